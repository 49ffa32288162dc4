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

// A caller that waits in the store's queue knows the holder from its attempts.
func TestWaitingInTheQueueOfTheStore(t *testing.T) {
	waiting(t, all, func(t *testing.T, here *distlock.Locker, held *distlock.Lease, _ *testkit.Store, w *waits) {
		got := testkit.InBackground(t, here, distlock.Opts{Prefix: "", Value: "job"})
		time.Sleep(3 * time.Second)
		wantWaits(t, w.take(),
			"1s: held by there/2 for 11s, 59m49s left",
			"2s: held by there/2 for 12s, 59m48s left")
		time.Sleep(200 * time.Second)
		var told []time.Duration
		for _, i := range w.take() {
			if i.Name != "job" || i.Key != "k" || i.Leader || i.Place != 0 || i.Waiters != 1 {
				t.Errorf("told of %+v", i)
			}
			told = append(told, i.Wait/time.Second)
		}
		if want := []time.Duration{4, 8, 16, 32, 64, 124, 184}; !slices.Equal(told, want) {
			t.Errorf("told after %v seconds, want %v", told, want)
		}
		wantIs(t, held.Release(t.Context()))
		wantIs(t, testkit.MustGet(t, got).Release(t.Context()))
		time.Sleep(time.Hour)
		wantWaits(t, w.take())
	})
}

// The same without a queue.
func TestWaitingWithoutAQueue(t *testing.T) {
	for _, abilities := range []testkit.Ability{0, testkit.Waking} {
		view := func(s *testkit.Store) driver.Backend { return s.Only(abilities) }
		waiting(t, view, func(t *testing.T, here *distlock.Locker, held *distlock.Lease, _ *testkit.Store, w *waits) {
			got := testkit.InBackground(t, here, distlock.Opts{RetryInterval: time.Minute})
			time.Sleep(5 * time.Second)
			wantWaits(t, w.take(), "1s: held by there/2 for 11s, 59m49s left", "2s: held by there/2 for 12s, 59m48s left",
				"4s: held by there/2 for 14s, 59m46s left")
			wantIs(t, held.Release(t.Context()))
			wantIs(t, (<-got).Release(t.Context()))
		})
	}
}

// Callers that wait behind others of their process know their places there, and what the
// caller that waits in the store has seen.
func TestWaitingInTheProcess(t *testing.T) {
	waiting(t, all, func(t *testing.T, here *distlock.Locker, held *distlock.Lease, _ *testkit.Store, w *waits) {
		var leases []<-chan *distlock.Lease
		for range 3 {
			leases = append(leases, testkit.InBackground(t, here, distlock.Opts{}))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(900 * time.Millisecond)
		wantWaits(t, w.take(),
			"1s: held by there/2 for 11s, 59m49s left",
			"1s: held by there/2 for 11s, 59m49s left; place 1",
			"1s: held by there/2 for 11s, 59m49s left; place 2")

		wantIs(t, held.Release(t.Context()))
		first := testkit.MustGet(t, leases[0])
		time.Sleep(time.Second)
		wantWaits(t, w.take(),
			"2s: held by this process for 900ms; place 1",
			"2s: held by this process for 1s; place 2")
		wantIs(t, first.Release(t.Context()))
		wantIs(t, testkit.MustGet(t, leases[1]).Release(t.Context()))
		wantIs(t, testkit.MustGet(t, leases[2]).Release(t.Context()))
	})
}

// A wait of less than a second is not told.
func TestWaitingShortly(t *testing.T) {
	waiting(t, all, func(t *testing.T, here *distlock.Locker, _ *distlock.Lease, _ *testkit.Store, w *waits) {
		for _, o := range []distlock.Opts{{RetryCount: 1}, {MaxWait: 999 * time.Millisecond}, {RetryCount: 3, RetryInterval: time.Millisecond}} {
			wantIs(t, testkit.ErrorOf(here.Acquire(t.Context(), "k", o)), distlock.ErrNotAcquired)
		}
		time.Sleep(time.Hour)
		wantWaits(t, w.take())
	})
}

// What a refusal has shown is forgotten when the caller gets the key.
func TestWaitingIsForgotten(t *testing.T) {
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
		s.Fail(testkit.ErrBroken, testkit.Enqueue)
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

// Waits that no hook uses are not told.
func TestNoWaiting(t *testing.T) {
	var told atomic.Int64
	h := distlock.Hooks{NoWaiting: true, Event: testkit.On{distlock.Waiting: func(context.Context, distlock.Event) { told.Add(1) }}.Event}
	bubbleWith(t, distlock.Config{Hooks: h}, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, testkit.NewLocker(t, s, distlock.Config{}), "k", distlock.Opts{KeyTimeout: time.Hour})
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{MaxWait: time.Minute})
		wantIs(t, err, distlock.ErrNotAcquired)
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
