package placequeue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

type store struct{}

func (store) HasEnded() bool { return false }

type ticket struct{ placequeue.Ticket[store] }

// obstacle counts the looks at it, until its session ends.
type obstacle struct {
	placequeue.Session

	changed chan error
	looks   int
}

func (o *obstacle) Watch(context.Context) <-chan error { return o.changed }
func (o *obstacle) Remains(context.Context) bool       { o.looks++; return o.looks < 3 }
func (o *obstacle) Err(_ context.Context, more bool) error {
	return fmt.Errorf("%v: %w", more, driver.ErrNotAcquired)
}

// TestTurn: a waiter is told when the obstacle of its last attempt may be gone, for each reason.
// The next Enqueue then makes an attempt without another look, or says why there was no watch.
func TestTurn(t *testing.T) {
	broken := errors.New("no watch")
	for name, c := range map[string]struct {
		looks int
		err   error
	}{
		"changed": {}, "not watched": {err: broken}, "session ended": {}, "another attempt": {looks: 3}, "released": {}, "closed": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bg := placequeue.NewBackground()
				defer bg.Close(nil)
				var table placequeue.Table[*ticket, store]
				table.Init(func(*ticket) {})
				r := testkit.NewRequest("key")
				tk, err := table.GetOrAdd(t.Context(), &r, true, func(tk placequeue.Ticket[store]) *ticket { return &ticket{tk} })
				if err != nil {
					t.Fatal(err)
				}
				o, attempts := &obstacle{Session: placequeue.NewSession(), changed: make(chan error, 1)}, 0
				enqueue := func() error {
					_, err := table.Enqueue(t.Context(), tk, func() (driver.Grant, placequeue.Obstacle, error) {
						attempts++
						return driver.Grant{}, &obstacle{Session: placequeue.NewSession()}, nil
					})
					return err
				}
				_, _ = table.Enqueue(t.Context(), tk, func() (driver.Grant, placequeue.Obstacle, error) { return driver.Grant{}, o, nil })
				turn := table.Turn(t.Context(), bg, &r)
				synctest.Wait()
				select {
				case <-turn:
					t.Error("the turn comes at once")
				default:
				}
				switch name {
				case "changed", "not watched":
					o.changed <- c.err
				case "session ended":
					o.End()
				case "another attempt":
					for range c.looks {
						_ = enqueue()
					}
				case "released":
					table.Remove(tk, false)
				case "closed":
					bg.Close(nil)
				}
				<-turn
				if err := enqueue(); !errors.Is(err, driver.ErrNotAcquired) && !errors.Is(err, c.err) {
					t.Errorf("Enqueue: %v", err)
				}
				if c.err != nil {
					if attempts != 0 {
						t.Errorf("%d attempts", attempts)
					}
					_ = enqueue()
				}
				if attempts != 1 || o.looks != c.looks {
					t.Errorf("%d attempts and %d looks, want 1 and %d", attempts, o.looks, c.looks)
				}
			})
		})
	}
}
