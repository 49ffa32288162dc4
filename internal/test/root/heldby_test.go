package test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// heldBy returns the HeldError in err.
func heldBy(t *testing.T, err error) distlock.HeldError {
	t.Helper()
	held := new(distlock.HeldError)
	if !errors.As(err, &held) {
		t.Fatalf("%v does not say who has the key", err)
	}
	return *held
}

// named runs f in virtual time with a Locker named here, and a second Locker named
// there on the same store.
func named(t *testing.T, f func(t *testing.T, here, there *distlock.Locker, s *testkit.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		here, there := testkit.NewLocker(t, s, distlock.Config{Holder: "here/1"}), testkit.NewLocker(t, s, distlock.Config{Holder: "there/2"})
		f(t, here, there, s)
	})
}

// If a waiter stops waiting because of a holder in this process, its error says so, and
// how long the holder has had the key.
func TestHeldByThisProcess(t *testing.T) {
	named(t, func(t *testing.T, here, _ *distlock.Locker, _ *testkit.Store) {
		held := testkit.MustAcquire(t, here, "k", distlock.Opts{})
		time.Sleep(3 * time.Second)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		for _, tc := range []struct {
			name string
			ctx  context.Context
			opts distlock.Opts
			want []error
			text string
		}{
			{"one attempt", t.Context(), distlock.Opts{RetryCount: 1}, nil, ""},
			{"one attempt of a reader", t.Context(), distlock.Opts{RetryCount: 1, Mode: distlock.Shared}, nil, ""},
			{"context", short, distlock.Opts{}, []error{context.DeadlineExceeded}, ": context deadline exceeded"},
			{"MaxWait", t.Context(), distlock.Opts{MaxWait: time.Second}, nil, ": waited for MaxWait, 1s"},
			{"attempts", t.Context(), distlock.Opts{RetryCount: 2, RetryInterval: time.Millisecond}, nil, ""},
		} {
			_, err := here.Acquire(tc.ctx, "k", tc.opts)
			wantIs(t, err, append(tc.want, distlock.ErrNotAcquired)...)
			since := 3*time.Second + time.Since(start)
			if got, want := heldBy(t, err), (distlock.HeldError{Holder: "here/1", Held: since, Local: true}); got != want {
				t.Errorf("%s: %+v, want %+v", tc.name, got, want)
			}
			if tc.name == "context" {
				wantLine(t, err, `distlock: acquire "k": lock not acquired: held by this process for 4s: context deadline exceeded`)
			}
		}
		wantIs(t, held.Release(t.Context()))
	})
}

// If several holders have the key, the error names who has had it for the
// longest time. After a hand-over it names the current holder.
func TestHeldByThisProcessSince(t *testing.T) {
	named(t, func(t *testing.T, here, _ *distlock.Locker, s *testkit.Store) {
		refusal := func(o distlock.Opts) distlock.HeldError {
			t.Helper()
			_, err := here.TryAcquire(t.Context(), "k", o)
			return heldBy(t, err)
		}
		first := testkit.MustAcquire(t, here, "k", reading)
		time.Sleep(time.Second)
		second := testkit.MustAcquire(t, here, "k", reading)
		time.Sleep(time.Second)
		if got := refusal(writing); !got.Local || got.Held != 2*time.Second {
			t.Errorf("of two readers: %+v", got)
		}
		next := inBackground(t, here, distlock.Opts{KeyTimeout: 2 * time.Minute, MaxHold: time.Minute})
		synctest.Wait()
		wantIs(t, first.Release(t.Context()))
		if got := refusal(writing); !got.Local || got.Held != time.Second {
			t.Errorf("of the other: %+v", got)
		}
		wantIs(t, second.Release(t.Context()))
		last := mustGet(t, next)
		time.Sleep(5 * time.Second)
		left := time.Until(last.Until())
		if got := refusal(writing); !got.Local || got.Held != 5*time.Second || got.RetryAfter != left {
			t.Errorf("of the one behind: %+v, want %v left, which nobody renews", got, left)
		}
		s.Delay(time.Second, testkit.Release)
		go func() { _ = last.Release(t.Context()) }()
		synctest.Wait()
		if got := refusal(writing); !got.Local || got.Held != 5*time.Second {
			t.Errorf("of the one that is being released: %+v", got)
		}
		time.Sleep(time.Second)
		wantIs(t, testkit.MustAcquire(t, here, "k", writing).Release(t.Context()))
	})
}

// While the first waiter asks the store, the key has no holder in this process, and the
// other waiters get the store's answer.
func TestHeldElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		here, there := testkit.NewLocker(t, s.Only(0), distlock.Config{Holder: "here/1"}), testkit.NewLocker(t, s, distlock.Config{Holder: "there/2"})
		held := testkit.MustAcquire(t, there, "k", distlock.Opts{KeyTimeout: time.Minute})
		time.Sleep(3 * time.Second)
		front := inBackground(t, here, distlock.Opts{RetryInterval: time.Second})
		time.Sleep(time.Second / 2) // after its first attempt, and before its second
		_, err := here.TryAcquire(t.Context(), "k", distlock.Opts{})
		want := distlock.HeldError{Holder: "there/2", Held: 3500 * time.Millisecond, RetryAfter: 56500 * time.Millisecond}
		if got := heldBy(t, err); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		wantIs(t, held.Release(t.Context()))
		wantIs(t, (<-front).Release(t.Context()))
		wantIs(t, testkit.ErrorOf(here.TryAcquire(t.Context(), "k", distlock.Opts{})))
	})
}

// The waiters in the process stop together with the first, which waits in the store's
// queue: all errors name the holder of the key.
func TestHeldElsewhereToAllWhoWait(t *testing.T) {
	named(t, func(t *testing.T, here, there *distlock.Locker, _ *testkit.Store) {
		held := testkit.MustAcquire(t, there, "k", distlock.Opts{})
		errs := make(chan error)
		for i := range 5 {
			go func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := here.Acquire(ctx, "k", distlock.Opts{})
				errs <- err
			}()
		}
		for range 5 {
			err := <-errs
			wantIs(t, err, distlock.ErrNotAcquired, context.DeadlineExceeded)
			if got := heldBy(t, err); got.Local || got.Holder != "there/2" || got.Held < time.Second {
				t.Errorf("%+v", got)
			}
		}
		wantIs(t, held.Release(t.Context()))
	})
}

// A holder in the store with this Locker's name is in this process only if this Locker
// has the key.
func TestHeldUnderTheSameName(t *testing.T) {
	named(t, func(t *testing.T, here, there *distlock.Locker, s *testkit.Store) {
		twin := testkit.NewLocker(t, s, distlock.Config{Holder: "here/1"})
		refusal := func(o distlock.Opts) distlock.HeldError {
			t.Helper()
			_, err := here.TryAcquire(t.Context(), "k", o)
			return heldBy(t, err)
		}
		other := testkit.MustAcquire(t, twin, "k", distlock.Opts{})
		if got := refusal(distlock.Opts{}); got.Local || got.Holder != "here/1" {
			t.Errorf("of another Locker: %+v", got)
		}
		wantIs(t, other.Release(t.Context()))

		wantIs(t, here.Do(t.Context(), "k", distlock.Opts{MinHold: time.Minute}, func(context.Context) error { return nil }))
		time.Sleep(time.Second)
		if got := refusal(distlock.Opts{}); got.Local || got.Holder != "here/1" || got.RetryAfter != 59*time.Second {
			t.Errorf("of what MinHold keeps: %+v", got)
		}
		time.Sleep(time.Minute)

		own := testkit.MustAcquire(t, here, "k", distlock.Opts{Permits: 2})
		beside := testkit.MustAcquire(t, there, "k", distlock.Opts{Permits: 2})
		if got := refusal(distlock.Opts{Permits: 2}); !got.Local || got.Holder != "here/1" {
			t.Errorf("of the first of two: %+v", got)
		}
		wantIs(t, own.Release(t.Context()))
		own = testkit.MustAcquire(t, here, "k", distlock.Opts{Permits: 2})
		if got := refusal(distlock.Opts{Permits: 2}); got.Local || got.Holder != "there/2" {
			t.Errorf("of the first of two: %+v", got)
		}
		wantIs(t, own.Release(t.Context()))
		wantIs(t, beside.Release(t.Context()))
	})
}

// A waiter that leaves the front of the queue does not affect the errors of the waiters
// behind it.
func TestCancelledFrontIsNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s.Only(0), distlock.Config{})
		s.Delay(time.Second, testkit.Try)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = l.Acquire(ctx, "k", distlock.Opts{}) }()
		synctest.Wait()
		next := inBackground(t, l, distlock.Opts{})
		synctest.Wait()
		cancel()
		time.Sleep(time.Second + time.Millisecond)
		wantIs(t, testkit.ErrorOf(l.TryAcquire(t.Context(), "k", distlock.Opts{})), distlock.ErrNotAcquired)
		wantIs(t, (<-next).Release(t.Context()))
	})
}

// A key that contains something else is held, not unavailable, also for the waiters
// behind in the process.
func TestForeign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s.Only(0), distlock.Config{})
		s.Fail(fmt.Errorf("%w: a hash", distlock.ErrForeign), testkit.Try)
		const text = `distlock: acquire "k": lock not acquired: held by another kind of lock: a hash`
		want := []error{distlock.ErrForeign, distlock.ErrNotAcquired}
		_, err := l.TryAcquire(t.Context(), "k", distlock.Opts{})
		wantIs(t, err, want...)
		wantLine(t, err, text)

		errs := make(chan error)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		go func() {
			_, err := l.Acquire(ctx, "k", distlock.Opts{})
			errs <- err
		}()
		synctest.Wait()
		_, behind := l.TryAcquire(t.Context(), "k", distlock.Opts{})
		wantIs(t, behind, want...)
		wantLine(t, behind, text)
		err = <-errs
		wantIs(t, err, append(want, context.DeadlineExceeded)...)
		wantLine(t, err, text+": context deadline exceeded")
	})
}
