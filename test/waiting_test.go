package test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// waits records the calls of the hook Waiting.
type waits struct {
	mu    sync.Mutex
	infos []distlock.Event
	late  bool // a call came after Acquired or Failed of the same acquisition
}

func (w *waits) hooks() distlock.Hooks {
	end := func(ctx context.Context) {
		w.mu.Lock()
		defer w.mu.Unlock()
		*ctx.Value(ctxKey{}).(*bool) = true
	}
	return distlock.Hooks{
		Start: func(ctx context.Context, _ distlock.Event) context.Context {
			return context.WithValue(ctx, ctxKey{}, new(bool))
		},
		Event: testkit.On{
			distlock.Waiting: func(ctx context.Context, i distlock.Event) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.infos = append(w.infos, i)
				w.late = w.late || *ctx.Value(ctxKey{}).(*bool)
			},
			distlock.Acquired: func(ctx context.Context, _ distlock.Event) { end(ctx) },
			distlock.Failed:   func(ctx context.Context, _ distlock.Event) { end(ctx) },
		}.Event,
	}
}

// take returns the calls since the last one.
func (w *waits) take() []distlock.Event {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	infos := w.infos
	w.infos = nil
	return infos
}

// wantWaits checks what matters of calls, each in one line.
func wantWaits(t *testing.T, got []distlock.Event, want ...string) {
	t.Helper()
	lines := make([]string, len(got))
	for n, i := range got {
		lines[n] = fmt.Sprintf("%v: %v", i.Wait, strings.TrimPrefix(i.Err.Error(), "lock not acquired: "))
		if i.Place > 0 {
			lines[n] += fmt.Sprintf("; place %d", i.Place)
		}
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// waiting runs f in virtual time. The key "k" has a holder, there/2, for the lease of an hour.
// Locker here/1, with the abilities of the store, tells w of its waits.
func waiting(
	t *testing.T, view func(*testkit.Store) driver.Backend,
	f func(t *testing.T, here *distlock.Locker, held *distlock.Lease, s *testkit.Store, w *waits),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, w := testkit.NewStore(), &waits{}
		there := testkit.NewLocker(t, s.Only(0), distlock.Config{Holder: "there/2"})
		here := testkit.NewLocker(t, view(s), distlock.Config{Holder: "here/1", HandOverTime: -1, Hooks: w.hooks()})
		held := testkit.MustAcquire(t, there, "k", distlock.Opts{KeyTimeout: time.Hour})
		time.Sleep(10 * time.Second)
		f(t, here, held, s, w)
		_ = held.Release(context.WithoutCancel(t.Context()))
		if w.late {
			t.Error("Waiting was called after the end of the wait")
		}
	})
}

func all(s *testkit.Store) driver.Backend { return s }

// A store with a queue answers nothing while the caller waits, so the process looks there: as
// often as it tells the hook, and for one key.
func TestWaitingInTheQueueOfTheStore(t *testing.T) {
	waiting(t, all, func(t *testing.T, here *distlock.Locker, held *distlock.Lease, s *testkit.Store, w *waits) {
		front := testkit.StartWaiter(t, s.Memory(), driver.Request{Key: "k", Owner: "front", TTL: time.Hour, Tokens: 1})
		synctest.Wait()
		got := testkit.InBackground(t, here, distlock.Opts{Prefix: "", Value: "job"})
		time.Sleep(3 * time.Second)
		wantWaits(t, w.take(),
			"1s: held by there/2 for 11s, 59m49s left; place 2, local false",
			"2s: held by there/2 for 12s, 59m48s left; place 2, local false")
		front.Cancel()
		wantIs(t, s.Memory().Release(t.Context(), front.Request.Grant()))
		time.Sleep(200 * time.Second)
		var told []time.Duration
		for _, i := range w.take() {
			if i.Name != "job" || i.Key != "k" || i.Leader || i.Place != 1 {
				t.Errorf("told of %+v", i)
			}
			told = append(told, i.Wait/time.Second)
		}
		if want := []time.Duration{4, 8, 16, 32, 64, 124, 184}; !slices.Equal(told, want) {
			t.Errorf("told after %v seconds, want %v", told, want)
		}
		testkit.WantCalls(t, s, testkit.Inspect, 9)
		wantIs(t, held.Release(t.Context()))
		wantIs(t, testkit.MustGet(t, got).Release(t.Context()))
		time.Sleep(time.Hour)
		wantWaits(t, w.take())
		testkit.WantCalls(t, s, testkit.Inspect, 9)
	})
}

// Without a queue the refusals name the holder, and nobody looks.
func TestWaitingWithoutAQueue(t *testing.T) {
	for _, abilities := range []testkit.Ability{0, testkit.Waking} {
		view := func(s *testkit.Store) driver.Backend { return s.Only(abilities) }
		waiting(t, view, func(t *testing.T, here *distlock.Locker, held *distlock.Lease, s *testkit.Store, w *waits) {
			got := testkit.InBackground(t, here, distlock.Opts{RetryInterval: time.Minute})
			time.Sleep(5 * time.Second)
			wantWaits(t, w.take(), "1s: held by there/2 for 11s, 59m49s left", "2s: held by there/2 for 12s, 59m48s left",
				"4s: held by there/2 for 14s, 59m46s left")
			wantIs(t, held.Release(t.Context()))
			wantIs(t, (<-got).Release(t.Context()))
			testkit.WantCalls(t, s, testkit.Inspect, 0)
		})
	}
}

// Callers that wait behind others of their process know their places there, and what the one
// that waits in the store has seen. Only that one looks.
func TestWaitingInTheProcess(t *testing.T) {
	waiting(t, all, func(t *testing.T, here *distlock.Locker, held *distlock.Lease, s *testkit.Store, w *waits) {
		var leases []<-chan *distlock.Lease
		for range 3 {
			leases = append(leases, testkit.InBackground(t, here, distlock.Opts{}))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(900 * time.Millisecond)
		wantWaits(t, w.take(),
			"1s: held by there/2 for 11s, 59m49s left; place 1, local false",
			"1s: held by there/2 for 11s, 59m49s left; place 1, local true",
			"1s: held by there/2 for 11s, 59m49s left; place 2, local true")
		testkit.WantCalls(t, s, testkit.Inspect, 1)

		wantIs(t, held.Release(t.Context()))
		first := testkit.MustGet(t, leases[0])
		time.Sleep(time.Second)
		wantWaits(t, w.take(),
			"2s: held by this process for 900ms; place 1, local true",
			"2s: held by this process for 1s; place 2, local true")
		wantIs(t, first.Release(t.Context()))
		wantIs(t, testkit.MustGet(t, leases[1]).Release(t.Context()))
		wantIs(t, testkit.MustGet(t, leases[2]).Release(t.Context()))
		testkit.WantCalls(t, s, testkit.Inspect, 1)
	})
}

// A wait of less than a second is not told, and the store is not asked.
func TestWaitingShortly(t *testing.T) {
	waiting(t, all, func(t *testing.T, here *distlock.Locker, _ *distlock.Lease, s *testkit.Store, w *waits) {
		for _, o := range []distlock.Opts{{RetryCount: 1}, {MaxWait: 999 * time.Millisecond}, {RetryCount: 3, RetryInterval: time.Millisecond}} {
			wantIs(t, testkit.ErrorOf(here.Acquire(t.Context(), "k", o)), distlock.ErrNotAcquired)
		}
		time.Sleep(time.Hour)
		wantWaits(t, w.take())
		testkit.WantCalls(t, s, testkit.Inspect, 0)
	})
}

// A look that fails or hangs neither delays nor fails the acquisition, and ends with it.
func TestWaitingWhileTheLookFails(t *testing.T) {
	for name, spoil := range map[string]func(s *testkit.Store){
		"fails": func(s *testkit.Store) { s.Fail(testkit.ErrBroken, testkit.Inspect) },
		"hangs": func(s *testkit.Store) { s.Hang(testkit.Inspect) },
		"finds nothing": func(s *testkit.Store) {
			s.After(func(_ context.Context, c *testkit.Call) error { c.Found = nil; return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			waiting(t, all, func(t *testing.T, here *distlock.Locker, held *distlock.Lease, s *testkit.Store, w *waits) {
				spoil(s)
				got := testkit.InBackground(t, here, distlock.Opts{})
				time.Sleep(3500 * time.Millisecond)
				for _, i := range w.take() {
					wantIs(t, i.Err, distlock.ErrNotAcquired)
					if heldBy(t, i.Err) != (distlock.HeldError{}) {
						t.Errorf("made up %v", i.Err)
					}
				}
				time.Sleep(3 * time.Second) // a look that hangs is under way
				start := time.Now()
				wantIs(t, held.Release(t.Context()))
				lease := testkit.MustGet(t, got)
				wantTook(t, start, 0)
				wantIs(t, lease.Release(t.Context()))
				wantIs(t, here.Close())
				wantTook(t, start, 0)
			})
		})
	}
}

// A look that answers late, when the caller has the key, has no effect: neither on the hook nor
// on what the next waiters of the process are told.
func TestWaitingLookAnswersLate(t *testing.T) {
	waiting(t, all, func(t *testing.T, here *distlock.Locker, held *distlock.Lease, s *testkit.Store, w *waits) {
		s.After(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Inspect {
				time.Sleep(time.Second) // and does not notice the end of its context
			}
			return nil
		})
		got := testkit.InBackground(t, here, distlock.Opts{})
		time.Sleep(1500 * time.Millisecond)
		wantIs(t, held.Release(t.Context()))
		lease := testkit.MustGet(t, got)
		s.Hang(testkit.Enqueue)
		wantIs(t, lease.Release(t.Context()))
		next := testkit.StartAcquire(t, here, "k", distlock.Opts{})
		time.Sleep(900 * time.Millisecond)
		wantWaits(t, w.take())
		_, err := here.TryAcquire(t.Context(), "k", distlock.Opts{})
		if got := heldBy(t, err); got != (distlock.HeldError{}) {
			t.Errorf("%+v, but there/2 has given the key back", got)
		}
		next.Cancel()
	})
}

// What a look has shown is forgotten when the caller gets the key.
func TestWaitingLookIsForgotten(t *testing.T) {
	waiting(t, all, func(t *testing.T, here *distlock.Locker, held *distlock.Lease, s *testkit.Store, w *waits) {
		got, next := testkit.InBackground(t, here, distlock.Opts{}), testkit.InBackground(t, here, distlock.Opts{})
		time.Sleep(1500 * time.Millisecond)
		_, err := here.TryAcquire(t.Context(), "k", distlock.Opts{})
		if got := heldBy(t, err); got.Holder != "there/2" || got.Held != 11500*time.Millisecond {
			t.Errorf("while it waits: %+v", got)
		}
		wantIs(t, held.Release(t.Context()))
		lease := testkit.MustGet(t, got)
		s.Delay(time.Second, testkit.Enqueue)
		wantIs(t, lease.Release(t.Context()))
		synctest.Wait()
		_, err = here.TryAcquire(t.Context(), "k", distlock.Opts{})
		if got := heldBy(t, err); got != (distlock.HeldError{}) {
			t.Errorf("%+v, but there/2 has given the key back", got)
		}
		wantIs(t, (<-next).Release(t.Context()))
		w.take()
	})
}

// A hook that is slow is not called twice at once, and the outcome waits for it.
func TestWaitingHookIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		s := testkit.NewStore()
		held := testkit.MustAcquire(t, testkit.NewLocker(t, s, distlock.Config{}), "k", distlock.Opts{})
		here := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{
			Event: testkit.On{
				distlock.Waiting: func(context.Context, distlock.Event) {
					e.note("begin")
					time.Sleep(time.Minute)
					e.note("end")
				},
				distlock.Acquired: func(context.Context, distlock.Event) { e.note("acquired") },
			}.Event,
		}})
		got := testkit.InBackground(t, here, distlock.Opts{KeyTimeout: time.Hour})
		time.Sleep(30 * time.Second)
		wantIs(t, held.Release(t.Context()))
		wantIs(t, (<-got).Release(t.Context()))
		e.want(t, "begin", "end", "acquired")
	})
}

// A caller that cannot reach the store waits, too.
func TestWaitingForAStoreThatFails(t *testing.T) {
	waiting(t, all, func(t *testing.T, here *distlock.Locker, _ *distlock.Lease, s *testkit.Store, w *waits) {
		s.Fail(testkit.ErrBroken, testkit.Enqueue, testkit.Inspect)
		got := testkit.StartAcquire(t, here, "k", distlock.Opts{})
		time.Sleep(1500 * time.Millisecond)
		calls := w.take()
		if len(calls) != 1 || distlock.CodeOf(calls[0].Err) != distlock.CodeUnavailable || !errors.Is(calls[0].Err, testkit.ErrBroken) {
			t.Errorf("told %+v", calls)
		}
		got.Cancel()
		<-got.Done
	})
}

// The hook gets the context of Start. A candidate is told apart, and each key of a set waits
// for itself.
func TestWaitingOfLeadAndDoAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		there := testkit.NewLocker(t, s, distlock.Config{Holder: "there/2"})
		held := testkit.MustAcquire(t, there, "k", distlock.Opts{})
		var e events
		here := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{
			Start: func(ctx context.Context, i distlock.Event) context.Context {
				return context.WithValue(ctx, ctxKey{}, "started "+i.Key)
			},
			Event: testkit.On{
				distlock.Waiting: func(ctx context.Context, i distlock.Event) {
					e.note("%s %s after %v, candidate %v, in %v", i.Name, i.Key, i.Wait, i.Leader, ctx.Value(ctxKey{}))
				},
			}.Event,
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		wantIs(t, here.Lead(ctx, "k", distlock.Opts{Value: "leader"}, stay), distlock.ErrNotAcquired, context.DeadlineExceeded)
		e.want(t, "leader k after 1s, candidate true, in started k")
		_, err := testkit.AcquireAll(t.Context(), here, []string{"a", "k"}, distlock.Opts{MaxWait: 1500 * time.Millisecond})
		wantIs(t, err, distlock.ErrNotAcquired)
		e.want(t, "unnamed k after 1s, candidate false, in started k")
		wantIs(t, held.Release(t.Context()))
	})
}

// Close ends a wait, and waits for a look that is under way.
func TestCloseWaitsForALook(t *testing.T) {
	waiting(t, all, func(t *testing.T, here *distlock.Locker, _ *distlock.Lease, s *testkit.Store, w *waits) {
		looks := 0
		s.Before(func(ctx context.Context, c *testkit.Call) error {
			if c.Op == testkit.Inspect {
				<-ctx.Done()
				time.Sleep(100 * time.Millisecond)
				looks++
			}
			return nil
		})
		got := testkit.StartAcquire(t, here, "k", distlock.Opts{})
		time.Sleep(1500 * time.Millisecond)
		start := time.Now()
		wantIs(t, here.Close())
		if <-got.Done; !errors.Is(got.Err, distlock.ErrClosed) || looks != 1 {
			t.Errorf("%v; %d looks have ended", got.Err, looks)
		}
		wantTook(t, start, 100*time.Millisecond)
		wantWaits(t, w.take())
	})
}

// The store is not asked about waits that no hook uses.
func TestNoWaiting(t *testing.T) {
	var told atomic.Int64
	h := distlock.Hooks{NoWaiting: true, Event: testkit.On{distlock.Waiting: func(context.Context, distlock.Event) { told.Add(1) }}.Event}
	bubbleWith(t, distlock.Config{Hooks: h}, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, testkit.NewLocker(t, s, distlock.Config{}), "k", distlock.Opts{KeyTimeout: time.Hour})
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{MaxWait: time.Minute})
		wantIs(t, err, distlock.ErrNotAcquired)
		testkit.WantCalls(t, s, testkit.Inspect, 0)
		if told.Load() > 0 {
			t.Error("the hook was told")
		}
		wantIs(t, held.Release(t.Context()))
	})
}

// A lock that need not wait costs no memory more for the hook, and neither does a re-entry.
func TestWaitingCostsNoMemory(t *testing.T) {
	allocations := func(h distlock.Hooks) float64 {
		l := testkit.NewLocker(t, memlock.New(), distlock.Config{Hooks: h})
		return testing.AllocsPerRun(1000, func() {
			lease := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			again, err := l.Acquire(lease.Context(), "k", distlock.Opts{})
			wantIs(t, err)
			wantIs(t, again.Release(t.Context()))
			wantIs(t, lease.Release(t.Context()))
		})
	}
	without, with := allocations(distlock.Hooks{}), allocations(distlock.Hooks{Event: func(context.Context, distlock.Event) {}})
	if with > without && !testkit.Race {
		t.Errorf("%v allocations, %v without the hook", with, without)
	}
}
