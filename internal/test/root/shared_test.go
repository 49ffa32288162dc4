package test

import (
	"context"
	"errors"
	"slices"
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
		wantCalls(t, s, testkit.Enqueue, 2) // the holder's and one reader's
		cancel()
		all.Wait()
		mustWait(t, one)
		wantIs(t, held.Release(t.Context()))
		a, b := mustGet(t, one), mustGet(t, another)
		wantCalls(t, s, testkit.Enqueue, 3)
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
			wantIs(t, testkit.ErrorOf(l.TryAcquire(t.Context(), "k", writing)), distlock.ErrNotAcquired)
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

func TestCallersThatDoNotShare(t *testing.T) {
	for name, o := range map[string]distlock.Opts{
		"another lease": {Mode: distlock.Shared, KeyTimeout: time.Minute},
		"MaxHold":       {Mode: distlock.Shared, MaxHold: time.Minute},
		"MinHold":       {Mode: distlock.Shared, MinHold: time.Second},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			leases := []*distlock.Lease{
				testkit.MustAcquire(t, l, "k", reading), testkit.MustAcquire(t, l, "k", o), testkit.MustAcquire(t, l, "k", o), testkit.MustAcquire(t, l, "k", reading),
			}
			// The last reader shares the first lease, unless it can share one of
			// the others: then it finds that lease, and not its own.
			wantCalls(t, s, testkit.Enqueue, 3)
			if o.MaxHold > 0 { // which is each reader's own
				time.Sleep(o.MaxHold)
				wantIs(t, leases[1].Check(), distlock.ErrLost)
				wantIs(t, errors.Join(leases[0].Check(), leases[3].Check()))
			}
			for _, lease := range leases {
				_ = lease.Release(t.Context())
			}
			time.Sleep(time.Minute)
			nothingLeft(t, l, s)
		})
	}
}

// MinHold of a reader keeps writers out, but not other readers.
func TestMinHoldOfAReader(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		other := testkit.MustAcquire(t, l, "k", reading)
		kept := testkit.MustAcquire(t, l, "k", distlock.Opts{Mode: distlock.Shared, MinHold: time.Minute})
		wantIs(t, kept.Release(t.Context()))
		wantIs(t, other.Release(t.Context()))
		wantFreeAfter(t, s, "k", time.Now(), time.Minute)
	})
}

// Readers that wait in a row enter with the first of them, on one lease, up to the next
// writer.
func TestReadersComeInTogether(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", writing)
		var readers []<-chan *distlock.Lease
		for range 10 {
			readers = append(readers, inBackground(t, l, reading))
		}
		writer := inBackground(t, l, writing)
		last := inBackground(t, l, reading)
		_, err := l.TryAcquire(t.Context(), "k", reading)
		wantIs(t, err, distlock.ErrNotAcquired)
		wantIs(t, held.Release(t.Context()))
		synctest.Wait()
		wantCalls(t, s, testkit.Enqueue, 2)
		token := held.Token()
		var leases []*distlock.Lease
		for _, r := range readers {
			leases = append(leases, mustGet(t, r))
		}
		slices.SortFunc(leases, func(a, b *distlock.Lease) int { return int(a.Token()) - int(b.Token()) })
		for _, lease := range leases {
			if lease.Token() <= token {
				t.Errorf("token %d after %d", lease.Token(), token)
			}
			token = lease.Token()
			mustWait(t, writer)
			mustWait(t, last)
			wantIs(t, testkit.ErrorOf(l.TryAcquire(t.Context(), "k", reading)), distlock.ErrNotAcquired)
			wantIs(t, lease.Release(t.Context()))
		}
		w := mustGet(t, writer)
		mustWait(t, last)
		if w.Token() <= token {
			t.Errorf("the writer's token is %d, after %d", w.Token(), token)
		}
		wantIs(t, w.Release(t.Context()))
		wantIs(t, mustGet(t, last).Release(t.Context()))
		nothingLeft(t, l, s)
	})
}

func TestLossCancelsAllSharers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		var mu sync.Mutex
		lost := map[uint64]int{}
		l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Event: testkit.On{distlock.Lost: func(_ context.Context, i distlock.Event) {
			mu.Lock()
			defer mu.Unlock()
			wantIs(t, i.Err, distlock.ErrLost)
			lost[i.Token]++
		}}.Event}})
		var leases []*distlock.Lease
		for range 5 {
			leases = append(leases, testkit.MustAcquire(t, l, "k", reading))
		}
		wantIs(t, leases[0].Release(t.Context()))
		s.Memory().Drop("k")
		for _, lease := range leases[1:] {
			<-lease.Context().Done()
			wantIs(t, context.Cause(lease.Context()), distlock.ErrLost)
		}
		synctest.Wait()
		fresh := testkit.MustAcquire(t, l, "k", reading) // together with readers that do not know of the loss yet
		for _, lease := range leases[1:] {
			wantIs(t, lease.Release(t.Context()), distlock.ErrLost)
			if lost[lease.Token()] != 1 {
				t.Errorf("told %d times", lost[lease.Token()])
			}
		}
		if len(lost) != 4 {
			t.Errorf("%d were told", len(lost))
		}
		wantIs(t, fresh.Release(t.Context()))
		nothingLeft(t, l, s)
	})
}

// A reader that leaves at the moment when it is admitted passes its turn on.
func TestCancelledReaderPassesTheLeaseOn(t *testing.T) {
	for _, behind := range []bool{true, false} {
		bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			held := testkit.MustAcquire(t, l, "k", writing)
			ctx, cancel := context.WithCancel(t.Context())
			leaving := &leavingCtx{Context: ctx}
			var all sync.WaitGroup
			inVain(leaving, t, l, &all, reading)
			var reader, writer <-chan *distlock.Lease
			if behind {
				reader, writer = inBackground(t, l, reading), inBackground(t, l, writing)
			}
			leaving.inTheMoment = func() { wantIs(t, held.Release(t.Context())) }
			cancel()
			all.Wait()
			if behind {
				r := mustGet(t, reader)
				mustWait(t, writer)
				wantIs(t, r.Release(t.Context()))
				wantIs(t, mustGet(t, writer).Release(t.Context()))
			}
			nothingLeft(t, l, s)
		})
	}
}

// The same with a lease to share, which stays with the others.
func TestCancelledSharerLeavesTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", reading)
		blocking, unblock := context.WithCancel(t.Context())
		var all sync.WaitGroup
		inVain(blocking, t, l, &all, writing)
		ctx, cancel := context.WithCancel(t.Context())
		leaving := &leavingCtx{Context: ctx}
		inVain(leaving, t, l, &all, reading)
		leaving.inTheMoment = func() { unblock(); time.Sleep(time.Nanosecond) } // the writer leaves, so this reader is admitted
		cancel()
		all.Wait()
		wantIs(t, held.Check())
		wantCalls(t, s, testkit.Release, 0)
		wantIs(t, held.Release(t.Context()))
		nothingLeft(t, l, s)
	})
}
