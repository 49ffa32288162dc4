package test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A writer of another process waits no longer than the time for which readers can share
// a lease, and current readers continue.
func TestWriterElsewhereGetsItsTurn(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		other := testkit.NewLocker(t, s, distlock.Config{})
		var all sync.WaitGroup
		var over atomic.Bool
		for range 8 {
			all.Go(func() {
				for !over.Load() {
					wantIs(t, l.Do(t.Context(), "k", reading, func(context.Context) error { time.Sleep(7 * time.Millisecond); return nil }))
				}
			})
			time.Sleep(time.Millisecond)
		}
		start := time.Now()
		wantIs(t, other.Do(t.Context(), "k", writing, func(context.Context) error { return nil }))
		if d := time.Since(start); d > handOverTime+10*time.Millisecond {
			t.Errorf("the writer waited for %v", d)
		}
		over.Store(true)
		all.Wait()
		nothingLeft(t, l, s)
	})
}

func TestWaitersOfBothKindsAreCancelled(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", reading)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, o := range []distlock.Opts{writing, reading, writing} {
			inVain(ctx, t, l, &all, o)
		}
		readers := inBackground(t, l, reading)
		mustWait(t, readers)
		cancel()
		all.Wait()
		// There are no other waiters any more, so the reader does not wait either, and
		// shares the lease.
		wantIs(t, mustGet(t, readers).Release(t.Context()))
		wantCalls(t, s, testkit.Wait, 1)
		wantIs(t, held.Release(t.Context()))
		nothingLeft(t, l, s)
	})
}

// If the reader that asks the store for the others stops waiting, the next one asks.
func TestNextReaderAsksWhenOneGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		other := testkit.NewLocker(t, s, distlock.Config{})
		held := testkit.MustAcquire(t, other, "k", writing)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		inVain(ctx, t, l, &all, reading)
		one, another := inBackground(t, l, reading), inBackground(t, l, reading)
		wantCalls(t, s, testkit.Wait, 2) // the holder's and one reader's
		cancel()
		all.Wait()
		mustWait(t, one)
		wantIs(t, held.Release(t.Context()))
		a, b := mustGet(t, one), mustGet(t, another)
		wantCalls(t, s, testkit.Wait, 3)
		wantIs(t, errors.Join(a.Release(t.Context()), b.Release(t.Context())))
		nothingLeft(t, l, s)
	})
}

// A single attempt of a reader is not refused because another reader is asking, also after a
// writer has stopped waiting: it is not counted any more.
func TestReadersTryTogether(t *testing.T) {
	for _, writer := range []bool{false, true} {
		bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			var all sync.WaitGroup
			if writer {
				held := testkit.MustAcquire(t, l, "k", reading)
				ctx, cancel := context.WithCancel(t.Context())
				inVain(ctx, t, l, &all, writing)
				cancel()
				all.Wait()
				time.Sleep(handOverTime) // the lease cannot be shared any more
				defer func() { wantIs(t, held.Release(t.Context())) }()
			}
			s.Before(func(context.Context, *testkit.Call) error { time.Sleep(time.Second); return nil }) // a slow network
			for range 5 {
				all.Go(func() {
					lease, err := l.TryAcquire(t.Context(), "k", reading)
					wantIs(t, err)
					time.Sleep(time.Minute)
					wantIs(t, lease.Release(t.Context()))
				})
			}
			synctest.Wait()
			_, err := l.TryAcquire(t.Context(), "k", writing)
			wantIs(t, err, distlock.ErrNotAcquired)
			all.Wait()
			s.Before(nil)
		})
	}
}

func TestCloseWithReadersAndPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := distlock.New(s, distlock.Config{CloseTimeout: 3 * time.Second})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				wantIs(t, l.Do(t.Context(), "k", reading, func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(time.Second)
					return nil
				}), distlock.ErrLost, distlock.ErrClosed)
			})
		}
		stuck := []*distlock.Lease{}
		for range 2 {
			stuck = append(stuck, testkit.MustAcquire(t, l, "p", distlock.Opts{Permits: 2}), testkit.MustAcquire(t, l, "r", reading))
		}
		synctest.Wait()
		for key, o := range map[string]distlock.Opts{"k": writing, "p": {Permits: 2}} {
			all.Go(func() {
				_, err := l.Acquire(t.Context(), key, o)
				wantIs(t, err, distlock.ErrClosed)
			})
		}
		synctest.Wait()
		start := time.Now()
		wantIs(t, l.Close())
		wantTook(t, start, 3*time.Second)
		all.Wait()
		for _, key := range []string{"k", "p", "r"} {
			if !s.Free(t, key) {
				t.Errorf("%s is still held", key)
			}
		}
		for _, h := range stuck {
			wantIs(t, h.Release(t.Context()), distlock.ErrLost, distlock.ErrClosed)
		}
	})
}
