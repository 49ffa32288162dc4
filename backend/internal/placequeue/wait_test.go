package placequeue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
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
	table.Init(placequeue.NewBackground(), context.WithCancel, func(*ticket) {}, look)
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
	asked   time.Time // when its waiter looked last
}

func (o *obstacle) Watch(context.Context) <-chan struct{} { return o.changed }
func (o *obstacle) Err(_ context.Context, more bool) error {
	return fmt.Errorf("%v: %w", more, driver.ErrNotAcquired)
}

// look looks at obstacles, which are gone at the third look.
func look(all []placequeue.Obstacle, report func(int, bool)) {
	for i := range all {
		o := all[i].(*obstacle)
		o.looks++
		report(i, o.looks < 3)
	}
}

// TestTurn: a waiter is told when the obstacle of its last attempt may be gone, for
// each reason. The next Enqueue then makes an attempt without another look.
func TestTurn(t *testing.T) {
	for name, looks := range map[string]int{"changed": 0, "session ended": 0, "another attempt": 3, "released": 0, "closed": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bg, r, table := placequeue.NewBackground(), testkit.NewRequest("key"), new(tickets)
				defer bg.Close(nil)
				table.Init(bg, context.WithCancel, func(*ticket) {}, look)
				tk := newTicket(t, table, &r)
				o, attempts := &obstacle{Session: placequeue.NewSession(), changed: make(chan struct{}, 1)}, 0
				enqueue := func() error {
					_, err := table.Acquire(t.Context(), tk, true, func(context.Context) (driver.Grant, placequeue.Obstacle, error) {
						attempts++
						return driver.Grant{}, &obstacle{Session: placequeue.NewSession()}, nil
					})
					return err
				}
				_, _ = table.Acquire(t.Context(), tk, true, func(context.Context) (driver.Grant, placequeue.Obstacle, error) { return driver.Grant{}, o, nil })
				turn := table.Turn(t.Context(), &r)
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

// TestLooksInRounds: the looks of thousands of waiters are few requests, one at a time, and
// each of them learns what is true after it has asked.
func TestLooksInRounds(t *testing.T) {
	for _, slow := range []time.Duration{5 * time.Millisecond, 400 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			const waiters, polls, interval = 2000, 3, 750 * time.Millisecond
			rounds, looks, running := 0, 0, 0
			var table tickets
			table.Init(placequeue.NewBackground(), context.WithCancel, func(*ticket) {}, func(all []placequeue.Obstacle, report func(int, bool)) {
				if running++; running > 1 {
					t.Error("two rounds at the same time")
				}
				rounds, looks = rounds+1, looks+len(all)
				time.Sleep(slow)
				for i, o := range all {
					report(i, time.Since(o.(*obstacle).asked) >= slow)
				}
				running--
			})
			begun := time.Now()
			var all sync.WaitGroup
			for i := range waiters {
				all.Go(func() {
					r, o := testkit.NewRequest("key"), &obstacle{Session: placequeue.NewSession()}
					tk := newTicket(t, &table, &r)
					attempt := func(context.Context) (driver.Grant, placequeue.Obstacle, error) { return driver.Grant{}, o, nil }
					_, _ = table.Acquire(t.Context(), tk, true, attempt)
					time.Sleep(time.Duration(i) * interval / waiters)
					for range polls {
						o.asked = time.Now()
						_, _ = table.Acquire(t.Context(), tk, true, func(context.Context) (driver.Grant, placequeue.Obstacle, error) {
							t.Error("an attempt although the obstacle is there")
							return attempt(nil)
						})
						if took := time.Since(o.asked); took > 50*time.Millisecond+2*slow {
							t.Errorf("a look took %v", took)
						}
						time.Sleep(interval)
					}
				})
			}
			all.Wait()
			if most := int(time.Since(begun)/max(50*time.Millisecond, slow)) + 2; rounds > most || looks != waiters*polls {
				t.Errorf("%d looks in %d rounds, want %d in at most %d", looks, rounds, waiters*polls, most)
			}
		})
	}
}
