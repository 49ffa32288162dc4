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

// Promise P8: a lost permit is not given to another caller in this process before the
// function has returned.
func TestLostPermitKeepsItsPlace(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		leases := []*distlock.Lease{testkit.MustAcquire(t, l, "k", permit), testkit.MustAcquire(t, l, "k", permit), testkit.MustAcquire(t, l, "k", permit)}
		s.Memory().Drop("k")
		for _, lease := range leases {
			<-lease.Context().Done()
		}
		next, writer := inBackground(t, l, permit), inBackground(t, l, writing)
		time.Sleep(time.Minute)
		mustWait(t, next)
		for i, lease := range leases {
			wantIs(t, lease.Release(t.Context()), distlock.ErrLost)
			if i == 0 {
				wantIs(t, mustGet(t, next).Release(t.Context()))
			}
			if i < 2 {
				mustWait(t, writer)
			}
		}
		wantIs(t, mustGet(t, writer).Release(t.Context()))
		nothingLeft(t, l, s)
	})
}
