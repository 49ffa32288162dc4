package test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// events records the calls of hooks, one line each.
type events struct {
	mu    sync.Mutex
	lines []string
}

func (e *events) note(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, fmt.Sprintf(format, args...))
}

// want checks the calls since the last call of want.
func (e *events) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.lines, want) {
		t.Errorf("events:\n%q\nwant:\n%q", e.lines, want)
	}
	e.lines = nil
}

// hooks record every event, with the span that Start has put into the context.
func (e *events) hooks(span string) distlock.Hooks {
	note := func(ctx context.Context, what string, i distlock.Event, format string, args ...any) {
		e.note("%s %s %s %v/%d "+format+" in %v", append(append([]any{what, i.Name, i.Key, i.Mode, i.Permits}, args...), ctx.Value(ctxKey{}))...)
	}
	return distlock.Hooks{
		Start: func(ctx context.Context, i distlock.Event) context.Context {
			note(ctx, "start", i, "")
			return context.WithValue(ctx, ctxKey{}, span)
		},
		Event: testkit.On{
			distlock.Acquired: func(ctx context.Context, i distlock.Event) {
				note(ctx, "acquired", i, "%d after %v again=%v", i.Token, i.Wait, i.Reentrant)
			},
			distlock.Failed: func(ctx context.Context, i distlock.Event) {
				note(ctx, "failed", i, "after %v busy=%v", i.Wait, errors.Is(i.Err, distlock.ErrNotAcquired))
			},
			distlock.Renewed: func(ctx context.Context, i distlock.Event) {
				note(ctx, "renewed", i, "%d after %v, %v left: %v", i.Token, i.Held, i.Left, i.Err)
			},
			distlock.Lost: func(ctx context.Context, i distlock.Event) {
				note(ctx, "lost", i, "%d after %v: %v", i.Token, i.Held, i.Err)
			},
			distlock.Released: func(ctx context.Context, i distlock.Event) {
				note(ctx, "released", i, "%d after %v again=%v term=%v lost=%v", i.Token, i.Held, i.Reentrant, i.Leader, errors.Is(i.Err, distlock.ErrLost))
			},
		}.Event,
	}
}

// hooked runs f in virtual time with a Locker that has hooks.
func hooked(t *testing.T, h distlock.Hooks, f func(t *testing.T, l *distlock.Locker, s *testkit.Store)) {
	t.Helper()
	bubbleWith(t, distlock.Config{HandOverTime: -1, Hooks: h}, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		f(t, l, s)
	})
}

func TestHooks(t *testing.T) {
	var e events
	hooked(t, e.hooks("span"), func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		o := distlock.Opts{Prefix: "shop:", Value: "pay"}
		_ = l.Do(t.Context(), "7", o, func(ctx context.Context) error {
			if ctx.Value(ctxKey{}) != "span" {
				t.Error("the span did not reach the function")
			}
			time.Sleep(time.Second)
			_, _ = l.TryAcquire(t.Context(), "7", o)
			return l.Do(context.WithValue(ctx, ctxKey{}, "outer"), "7", distlock.Opts{Prefix: "shop:"}, func(context.Context) error {
				time.Sleep(time.Second)
				return nil
			})
		})
		e.want(t,
			"start shop:pay shop:7 exclusive/0  in <nil>",
			"acquired shop:pay shop:7 exclusive/0 1 after 0s again=false in span",
			"start shop:pay shop:7 exclusive/0  in <nil>",
			"failed shop:pay shop:7 exclusive/0 after 0s busy=true in span",
			"start shop: shop:7 exclusive/0  in outer",
			"acquired shop: shop:7 exclusive/0 1 after 0s again=true in span",
			"released shop: shop:7 exclusive/0 1 after 1s again=true term=false lost=false in span",
			"released shop:pay shop:7 exclusive/0 1 after 2s again=false term=false lost=false in span",
		)

		held := testkit.MustAcquire(t, l, "8", distlock.Opts{KeyTimeout: time.Second, MaxHold: time.Second / 2, Permits: 3})
		<-held.Context().Done()
		synctest.Wait() // the hook is called after the cancellation
		_ = held.Release(t.Context())
		e.want(t,
			"start unnamed 8 exclusive/3  in <nil>",
			"acquired unnamed 8 exclusive/3 2 after 0s again=false in span",
			"lost unnamed 8 exclusive/3 2 after 500ms: lock lost: held for MaxHold, 500ms in span",
			"released unnamed 8 exclusive/3 2 after 500ms again=false term=false lost=true in span",
		)

		_ = l.Lead(t.Context(), "9", distlock.Opts{Mode: distlock.Shared}, func(context.Context) error { return testkit.ErrBroken })
		e.want(t,
			"start unnamed 9 shared/0  in <nil>",
			"acquired unnamed 9 shared/0 3 after 0s again=false in span",
			"released unnamed 9 shared/0 3 after 0s again=false term=true lost=false in span",
		)
	})
}

// The hook is called for each renewal and for each holder of the lease, except for the
// renewal after which the lease is lost.
func TestRenewed(t *testing.T) {
	var told []distlock.Event
	var failing bool
	var lost int
	var mu sync.Mutex
	h := distlock.Hooks{
		Event: testkit.On{
			distlock.Renewed: func(ctx context.Context, i distlock.Event) {
				mu.Lock()
				defer mu.Unlock()
				lease, ok := distlock.FromContext(ctx)
				if !ok || lease.Token() != i.Token || lease.Check() != nil || i.Left <= 0 || i.Left > time.Until(lease.Until()) {
					t.Errorf("%+v, lease %v", i, ok)
				}
				if failing {
					wantIs(t, i.Err, distlock.ErrUnavailable, testkit.ErrBroken)
				} else if i.Err != nil || i.Held+i.Left < 3*time.Second {
					t.Errorf("a renewal that succeeded: %+v", i)
				}
				told = append(told, i)
			},
			distlock.Lost: func(context.Context, distlock.Event) {
				mu.Lock()
				defer mu.Unlock()
				lost++
			},
		}.Event,
	}
	bubbleWith(t, distlock.Config{Hooks: h}, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		o := distlock.Opts{KeyTimeout: 3 * time.Second, Mode: distlock.Shared}
		leases := []*distlock.Lease{testkit.MustAcquire(t, l, "k", o), testkit.MustAcquire(t, l, "k", o)}
		again, err := l.Acquire(leases[0].Context(), "k", o) // not reported
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		mu.Lock()
		if n := len(s.Calls(testkit.Renew)); n < 5 || len(told) != len(leases)*n {
			t.Errorf("%d renewals, %d were told", n, len(told))
		}
		failing, told = true, nil
		mu.Unlock()
		s.Fail(testkit.ErrBroken, testkit.Renew)
		before := len(s.Calls(testkit.Renew))
		<-leases[0].Context().Done()
		synctest.Wait()
		if n := len(s.Calls(testkit.Renew)) - before; n < 5 || len(told) != len(leases)*n || lost != len(leases) {
			t.Errorf("%d renewals, %d were told, %d losses", n, len(told), lost)
		}
		_ = again.Release(t.Context())
		for _, lease := range leases {
			_ = lease.Release(t.Context())
		}

		told = nil // a failed renewal does not matter if the lease is released meanwhile
		held := testkit.MustAcquire(t, l, "r", o)
		renewals := len(s.Calls(testkit.Renew))
		s.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op != testkit.Renew {
				return nil
			}
			time.Sleep(time.Second / 2)
			return testkit.ErrBroken
		})
		time.Sleep(1100 * time.Millisecond)
		wantIs(t, held.Release(t.Context()))
		time.Sleep(time.Second)
		if n := len(s.Calls(testkit.Renew)) - renewals; n != 1 || len(told) != 0 {
			t.Errorf("%d renewals, %d were told", n, len(told))
		}
		s.Fail(nil)
	})
}

// slowToEnd is a context whose children take as long to be cancelled as until is not closed.
type slowToEnd struct {
	context.Context
	until chan struct{}
}

func (c slowToEnd) Done() <-chan struct{} { return c.until }

// AfterFunc is the method that package context looks for. It calls the function that it
// gets while it cancels a child, after the child is done.
func (c slowToEnd) AfterFunc(func()) func() bool {
	return func() bool {
		<-c.until
		return true
	}
}

// Close waits for the hook Lost, although the function has returned before the loss is
// told.
func TestCloseWaitsForLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan error, 1)
		l := distlock.New(testkit.NewStore(), distlock.Config{Hooks: distlock.Hooks{
			Event: testkit.On{
				distlock.Lost: func(ctx context.Context, _ distlock.Event) { told <- ctx.Err() },
			}.Event,
		}})
		ctx := slowToEnd{t.Context(), make(chan struct{})}
		err := l.Do(ctx, "k", distlock.Opts{MaxHold: time.Second}, func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
		wantIs(t, err, distlock.ErrLost)
		closed := make(chan error, 1)
		go func() { closed <- l.Close() }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close does not wait for the hook")
		default:
		}
		close(ctx.until)
		wantIs(t, <-closed)
		select {
		case err := <-told:
			wantIs(t, err, context.Canceled)
		default:
			t.Error("Close returns before the hook is called")
		}
	})
}
