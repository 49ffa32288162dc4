package placequeue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

type ticket struct {
	placequeue.Ticket[*placequeue.Session]
}

type tickets = placequeue.Table[*ticket, *placequeue.Session]

// newTable returns a table with a ticket.
func newTable(t *testing.T, r *driver.Request) (table *tickets, tk *ticket) {
	t.Helper()
	table = new(tickets)
	table.Init(context.WithCancel, func(*ticket) {})
	return table, newTicket(t, table, r)
}

// newTicket returns the ticket of the owner, or nil if it is refused.
func newTicket(t *testing.T, table *tickets, r *driver.Request) *ticket {
	tk, _ := table.GetOrAdd(t.Context(), r, true, func(tk placequeue.Ticket[*placequeue.Session]) *ticket { return &ticket{tk} })
	return tk
}

// TestRenewedInAnEndedSession: the session ends while a renewal is in flight. A place
// that is kept does not end with it.
func TestRenewedInAnEndedSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		retain, exists bool
		want           error
	}{{true, true, nil}, {true, false, driver.ErrLost}, {false, true, driver.ErrLost}} {
		r, session := testkit.NewRequest("key"), placequeue.NewSession()
		table, tk := newTable(t, &r)
		g := r.Grant()
		g.Sent = time.Now()
		if !table.SetHeld(tk, "place", &session, &g) {
			t.Fatal("not held")
		}
		g.Retain = c.retain
		all := table.Renewals([]driver.Grant{g}, func(int, error) {})
		session.End()
		if got := table.Renewed(&all[0], time.Now(), c.exists, nil); !errors.Is(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
		table.StopTimers()
	}
}

// TestHeldAgain: an attempt that finds the place of its owner has the tokens of the grant
// before. Another place is another grant.
func TestHeldAgain(t *testing.T) {
	t.Parallel()
	r, session := testkit.NewRequest("key"), placequeue.NewSession()
	table, tk := newTable(t, &r)
	defer table.StopTimers()
	for i, place := range []string{"a", "a", "b"} {
		g := r.Grant()
		g.Sent, g.Token, g.LastToken = time.Now(), uint64(7+i), uint64(7+i)
		if want := []uint64{7, 7, 9}[i]; !table.SetHeld(tk, place, &session, &g) || g.Token != want || g.LastToken != want {
			t.Errorf("place %s: tokens %d to %d, want %d", place, g.Token, g.LastToken, want)
		}
	}
	table.Move(tk, "c")
	for place, want := range map[string]bool{"a": false, "b": false, "c": true} {
		if _, held := table.HeldAt(place); held != want {
			t.Errorf("place %s is held: %v", place, held)
		}
	}
	if r.Mode = driver.Shared; newTicket(t, table, &r) != nil {
		t.Error("the owner shares what it has for itself")
	}
}

// TestTimerIsLate: the lease has ended, and its timer has not fired yet, as when the
// machine was suspended. It has ended, before and after the answer to a renewal.
func TestTimerIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, session := testkit.NewRequest("key"), placequeue.NewSession()
		table, tk := newTable(t, &r)
		g := r.Grant()
		g.Sent = time.Now()
		table.SetHeld(tk, "place", &session, &g)
		table.Lock() // the timer fires, and a renewal goes first
		time.Sleep(g.TTL)
		g.Sent = time.Now()
		table.SetHeld(tk, "place", &session, &g)
		table.Unlock()
		synctest.Wait()
		if _, held := table.HeldBy(&g); !held {
			t.Fatal("the timer of an earlier end ends the lease")
		}
		all := table.Renewals([]driver.Grant{g}, func(int, error) {})
		table.StopTimers()
		time.Sleep(g.TTL)
		if got := table.Renewed(&all[0], time.Now(), true, nil); !errors.Is(got, driver.ErrLost) {
			t.Errorf("the answer to a renewal after the end: %v", got)
		}
		if _, held := table.HeldBy(&g); held {
			t.Error("a lease that has ended is held")
		}
	})
}

// obstacle counts the looks at it, until its session ends.
type obstacle struct {
	placequeue.Session

	changed chan struct{}
	looks   int
}

func (o *obstacle) Watch(context.Context) <-chan struct{} { return o.changed }
func (o *obstacle) Remains(context.Context) bool          { o.looks++; return o.looks < 3 }
func (o *obstacle) Err(_ context.Context, more bool) error {
	return fmt.Errorf("%v: %w", more, driver.ErrNotAcquired)
}

// TestTurn: a waiter is told when the obstacle of its last attempt may be gone, for
// each reason. The next Enqueue then makes an attempt without another look.
func TestTurn(t *testing.T) {
	for name, looks := range map[string]int{"changed": 0, "session ended": 0, "another attempt": 3, "released": 0, "closed": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bg := background.New()
				r := testkit.NewRequest("key")
				table, tk := newTable(t, &r)
				<-table.Turn(t.Context(), bg, &r) // nothing is in the way
				o, attempts := &obstacle{Session: placequeue.NewSession(), changed: make(chan struct{}, 1)}, 0
				enqueue := func() error {
					_, err := table.Acquire(t.Context(), tk, true, func(context.Context) (driver.Grant, placequeue.Obstacle, error) {
						attempts++
						return driver.Grant{}, &obstacle{Session: placequeue.NewSession()}, nil
					})
					return err
				}
				_, _ = table.Acquire(t.Context(), tk, true, func(context.Context) (driver.Grant, placequeue.Obstacle, error) { return driver.Grant{}, o, nil })
				turn := table.Turn(t.Context(), bg, &r)
				synctest.Wait()
				select {
				case <-turn:
					t.Error("the turn comes at once")
				default:
				}
				switch name {
				case "changed":
					o.changed <- struct{}{}
				case "session ended":
					o.End()
				case "another attempt":
					for range looks {
						_ = enqueue()
					}
				case "released":
					table.Remove(tk, false)
				case "closed":
					bg.Close(nil)
				}
				<-turn
				if err := enqueue(); !errors.Is(err, driver.ErrNotAcquired) {
					t.Errorf("Enqueue: %v", err)
				}
				if attempts != 1 || o.looks != looks {
					t.Errorf("%d attempts and %d looks, want 1 and %d", attempts, o.looks, looks)
				}
			})
		})
	}
}

// TestFewAttempts: of a thousand attempts, 256 are in flight. Each has all its time, or none.
func TestFewAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 2 * time.Second
		table, r, running, made := new(tickets), testkit.NewRequest("key"), atomic.Int64{}, atomic.Int64{}
		table.Init(func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, limit)
		}, func(*ticket) {})
		tk := newTicket(t, table, &r)
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				_, _ = table.Acquire(t.Context(), tk, true, func(op context.Context) (g driver.Grant, _ placequeue.Obstacle, err error) {
					if op.Err() == nil {
						if end, _ := op.Deadline(); time.Until(end) < limit || running.Add(1) > 256 {
							t.Errorf("%d are in flight, and one has %v", running.Load(), time.Until(end))
						}
						time.Sleep(limit * 3 / 4)
						running.Add(-1)
						made.Add(1)
					}
					return g, nil, op.Err()
				})
			})
		}
		all.Wait()
		if made.Load() != 2*256 {
			t.Errorf("%d attempts were made before the others gave up", made.Load())
		}
	})
}
