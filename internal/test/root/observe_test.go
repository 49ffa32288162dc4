package test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// observe notes each element of Observe, and "end".
func (e *events) observe(ctx context.Context, l *distlock.Locker, every time.Duration) {
	start := time.Now()
	for lock, err := range admin.Observe(ctx, l, "k", every) {
		names := make([]string, 0, 2)
		for _, h := range lock.Holders {
			names = append(names, h.Holder)
		}
		slices.Sort(names)
		code := distlock.CodeOf(err)
		if errors.Is(err, errors.ErrUnsupported) {
			code = distlock.CodeOther
		}
		e.note("%v: %s %d %v %v", time.Since(start), lock.Key, lock.Held, strings.Join(names, ","), code)
	}
	e.note("%v: end", time.Since(start))
}

// observed runs f in virtual time, with an observer and two processes.
func observed(
	t *testing.T, view func(*testkit.Store) driver.Backend, every time.Duration,
	f func(t *testing.T, s *testkit.Store, e *events, a, b *distlock.Locker, end func()),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var e events
		s := testkit.NewStore()
		a, b := testkit.NewLocker(t, s, distlock.Config{Holder: "a"}), testkit.NewLocker(t, s, distlock.Config{Holder: "b"})
		observer := distlock.New(view(s), distlock.Config{})
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go e.observe(ctx, observer, every)
		synctest.Wait()
		f(t, s, &e, a, b, func() { wantIs(t, observer.Close()) })
		end()
		synctest.Wait()
		if n := s.Watches(); n > 0 {
			t.Errorf("%d watches are left", n)
		}
		wantIs(t, observer.Close())
	})
}

// The observer sees the state and each change of the holders, and neither renewals, nor
// waiters, nor re-entries and hand-overs.
func TestObserve(t *testing.T) {
	observed(t, all, 0, func(t *testing.T, s *testkit.Store, e *events, a, b *distlock.Locker, _ func()) {
		e.want(t, "0s: k 0  ok")
		time.Sleep(500 * time.Millisecond)
		first := testkit.MustAcquire(t, a, "k", distlock.Opts{})
		other := testkit.MustAcquire(t, a, "k2", distlock.Opts{}) // has the same prefix
		next := inBackground(t, b, distlock.Opts{})
		time.Sleep(time.Minute)
		e.want(t, "1s: k 1 a ok")
		wantIs(t, first.Release(t.Context()))
		second := mustGet(t, next)
		time.Sleep(time.Second)
		e.want(t, "1m1s: k 1 b ok")
		handed := inBackground(t, b, distlock.Opts{})
		wantIs(t, second.Release(t.Context()))
		wantIs(t, mustGet(t, handed).Release(t.Context()))
		readers := []*distlock.Lease{testkit.MustAcquire(t, a, "k", reading), testkit.MustAcquire(t, b, "k", reading)}
		time.Sleep(time.Minute)
		e.want(t, "1m2s: k 2 a,b ok")
		for _, r := range append(readers, other) {
			wantIs(t, r.Release(t.Context()))
		}
		time.Sleep(time.Second)
		e.want(t, "2m2s: k 0  ok")
		for _, c := range s.Calls(testkit.Inspect) {
			if c.Key != "k" {
				t.Errorf("asked for %q", c.Key)
			}
		}
	})
}

// A process that takes the key again is a new holder.
func TestObserveSeesANewTermOfTheSameProcess(t *testing.T) {
	observed(t, all, time.Second, func(t *testing.T, _ *testkit.Store, e *events, a, _ *distlock.Locker, _ func()) {
		time.Sleep(500 * time.Millisecond)
		for range 2 {
			lease := testkit.MustAcquire(t, a, "k", distlock.Opts{})
			time.Sleep(time.Second)
			wantIs(t, lease.Release(t.Context()))
		}
		e.want(t, "0s: k 0  ok", "1s: k 1 a ok", "2s: k 1 a ok")
	})
}

// wakingInspector is a store without a queue that wakes, and can be inspected.
type wakingInspector struct {
	driver.Backend
	driver.Waker
	driver.Inspector
}

// With messages the observer looks at once, beside its looks from time to time.
func TestObserveIsWoken(t *testing.T) {
	view := func(s *testkit.Store) driver.Backend {
		waking := s.Only(testkit.Waking)
		return wakingInspector{waking, waking.(driver.Waker), s}
	}
	observed(t, view, time.Minute, func(t *testing.T, s *testkit.Store, e *events, a, _ *distlock.Locker, _ func()) {
		lease := testkit.MustAcquire(t, a, "k", distlock.Opts{})
		time.Sleep(90 * time.Second)
		wantIs(t, lease.Release(t.Context()))
		e.want(t, "0s: k 0  ok", "1m0s: k 1 a ok", "1m30s: k 0  ok")
		if n := s.Watches(); n != 1 {
			t.Errorf("%d watches", n)
		}
	})
}

// An outage is told once, and its end with the state, even if that has not changed.
func TestObserveThroughAnOutage(t *testing.T) {
	observed(t, all, time.Second, func(t *testing.T, s *testkit.Store, e *events, a, _ *distlock.Locker, end func()) {
		lease := testkit.MustAcquire(t, a, "k", distlock.Opts{})
		time.Sleep(1500 * time.Millisecond)
		s.Fail(testkit.ErrBroken, testkit.Inspect)
		time.Sleep(10 * time.Second)
		s.Fail(nil)
		time.Sleep(10 * time.Second)
		e.want(t, "0s: k 0  ok", "1s: k 1 a ok", "2s: k 0  unavailable", "12s: k 1 a ok")
		wantIs(t, lease.Release(t.Context()))
		end()
		time.Sleep(time.Second)
		e.want(t, "22s: k 0  closed", "22s: end")
	})
}

// What does not change by looking again ends the sequence, and so do ctx and the caller.
func TestObserveEnds(t *testing.T) {
	observed(t, func(s *testkit.Store) driver.Backend { return s.Only(0) }, time.Second,
		func(t *testing.T, _ *testkit.Store, e *events, _, _ *distlock.Locker, _ func()) {
			e.want(t, "0s: k 0  other", "0s: end")
		})
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		var e events
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		e.observe(ctx, l, time.Minute)
		e.observe(ctx, l, time.Minute)
		e.want(t, "0s: k 0  ok", "10s: end", "0s: end")
		e.observe(t.Context(), l, -1)
		e.want(t, "0s: k 0  other", "0s: end")
		for range admin.Observe(t.Context(), l, "k", 0) {
			break
		}
		for lock, err := range admin.Observe(t.Context(), l, "a b", 0) {
			e.note("%s %v", lock.Key, distlock.CodeOf(err))
		}
		e.want(t, fmt.Sprint("a b ", distlock.CodeKey))
	})
}
