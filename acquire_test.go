package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestOneContenderPerKey(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		other := testkit.NewLocker(t, s, distlock.Config{})
		held := testkit.MustAcquire(t, other, "k", distlock.Opts{})
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				wantIs(t, l.Do(t.Context(), "k", distlock.Opts{}, func(context.Context) error { return nil }))
			})
		}
		synctest.Wait()
		wantCalls(t, s, testkit.Enqueue, 2)
		if n := l.Waiting(); n != 99 {
			t.Errorf("%d wait at the gate, want 99", n)
		}
		wantIs(t, held.Release(t.Context()))
		all.Wait()
	})
}

// Config.MaxWaiters limits the waiters for all keys together. A place is free again
// when its waiter has left.
func TestMaxWaitersOfAllKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, most = 4, 12
		l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{MaxWaiters: most})
		var held []*distlock.Lease
		for k := range keys {
			held = append(held, testkit.MustAcquire(t, l, fmt.Sprint(k), distlock.Opts{}))
		}
		var all sync.WaitGroup
		fill := func(ctx context.Context, want ...error) {
			t.Helper()
			for i := range most {
				all.Go(func() {
					wantIs(t, l.Do(ctx, fmt.Sprint(i%keys), distlock.Opts{}, func(context.Context) error { return nil }), want...)
				})
			}
			synctest.Wait()
			for k := range keys {
				_, err := l.Acquire(t.Context(), fmt.Sprint(k), distlock.Opts{MaxWait: time.Minute})
				wantIs(t, err, distlock.ErrQueueFull)
				if want := fmt.Sprintf("%d wait (Config.MaxWaiters)", most); err == nil || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
				_, err = l.TryAcquire(t.Context(), fmt.Sprint(k), distlock.Opts{})
				wantIs(t, err, distlock.ErrNotAcquired) // it does not wait
			}
			free := testkit.MustAcquire(t, l, "free", distlock.Opts{}) // this does not wait either
			wantIs(t, free.Release(t.Context()))
		}
		ctx, cancel := context.WithCancel(t.Context())
		fill(ctx, distlock.ErrNotAcquired, context.Canceled)
		cancel()
		all.Wait()

		// a place is free again
		fill(t.Context(), distlock.ErrClosed)
		time.AfterFunc(time.Second, func() {
			for _, s := range held {
				wantIs(t, s.Release(t.Context()), distlock.ErrLost, distlock.ErrClosed)
			}
		})
		wantIs(t, l.Close())
		all.Wait()
		if n := l.Waiting(); n != 0 {
			t.Errorf("%d are still counted after Close", n)
		}
	})
}

func TestMaxKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
		l.LimitKeys(2)
		a, b := testkit.MustAcquire(t, l, "a", distlock.Opts{}), testkit.MustAcquire(t, l, "b", distlock.Opts{})
		wantIs(t, testkit.ErrorOf(l.Acquire(t.Context(), "c", distlock.Opts{})), distlock.ErrQueueFull)
		wantIs(t, a.Release(t.Context()))
		c := testkit.MustAcquire(t, l, "c", distlock.Opts{})
		wantIs(t, errors.Join(b.Release(t.Context()), c.Release(t.Context())))
	})
}

// Row 14 (memlock): all calls return at once, and the queue is empty. Fails if an
// abandoned request is not released in the background.
func TestThousandWaitersCancelledAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		other := testkit.NewLocker(t, s, distlock.Config{})
		held := testkit.MustAcquire(t, other, "k", distlock.Opts{KeyTimeout: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				_, err := l.Acquire(ctx, "k", distlock.Opts{})
				wantIs(t, err, distlock.ErrNotAcquired, context.Canceled)
			})
		}
		synctest.Wait()
		start := time.Now()
		cancel()
		all.Wait()
		testkit.WantTook(t, start, 0)
		synctest.Wait()
		if l.Keys() != 0 {
			t.Error("the gate is still shut")
		}
		wantIs(t, held.Release(t.Context()))
		testkit.MustBeFree(t, s, "k")
	})
}

// Promise P8, even if the lease is lost.
//
// Row 13 (any): the gate stays shut until every function has returned. Fails if it is
// opened at the loss.
func TestGateStaysShutAfterLoss(t *testing.T) {
	for name, c := range map[string]struct {
		o distlock.Opts
		n int32
	}{"a writer": {writing, 1}, "readers": {reading, 3}} {
		testkit.BubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			var inside atomic.Int32
			stubborn := make(chan struct{})
			var all sync.WaitGroup
			for range c.n {
				all.Go(func() {
					wantIs(t, l.Do(t.Context(), "k", c.o, func(context.Context) error {
						inside.Add(1)
						<-stubborn // ignores ctx
						inside.Add(-1)
						return nil
					}), distlock.ErrLost)
				})
			}
			synctest.Wait()
			s.Memory().Drop("k")
			taken := testkit.MustAcquire(t, testkit.NewLocker(t, s, distlock.Config{}), "k", writing)
			wantIs(t, taken.Release(t.Context()))
			all.Go(func() {
				wantIs(t, l.Do(t.Context(), "k", writing, func(context.Context) error {
					if n := inside.Load(); n != 0 {
						t.Errorf("%d are inside while another writes", n)
					}
					return nil
				}))
			})
			for i := range c.n {
				time.Sleep(time.Minute)
				if l.Waiting() != 1 {
					t.Errorf("the next one is not at the gate, with %d inside", c.n-i)
				}
				stubborn <- struct{}{}
			}
			all.Wait()
			nothingLeft(t, l, s)
		})
	}
}

// heapPer returns how much the heap and the number of goroutines grow for each of n
// values that grow creates and keeps.
func heapPer(n int, grow func()) (bytes int64, goroutines int) {
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, running := heap(), runtime.NumGoroutine()
	grow()
	return (heap() - before) / int64(n), runtime.NumGoroutine() - running
}

func TestSizeOfALease(t *testing.T) {
	const n = 10_000
	l := distlock.New(instant{}, distlock.Config{})
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("some-prefix:some-key-", i)
	}
	leases := make([]*distlock.Lease, n)
	bytes, goroutines := heapPer(n, func() {
		for i := range leases {
			leases[i] = testkit.MustAcquire(t, l, keys[i], distlock.Opts{KeyTimeout: time.Hour})
		}
	})
	t.Logf("%d B of heap for each lease, %d goroutines for all", bytes, goroutines)
	if bytes > 1024 || goroutines > 1 {
		t.Errorf("%d B of heap for each lease, %d goroutines for all; want at most 1024 and 1", bytes, goroutines)
	}
	for _, s := range leases {
		wantIs(t, s.Release(t.Context()))
	}
	wantIs(t, l.Close())
}

func TestSizeOfAWaiter(t *testing.T) {
	const n = 10_000
	l := distlock.New(instant{}, distlock.Config{})
	held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	bytes, _ := heapPer(n, func() {
		for range n {
			all.Go(func() { _, _ = l.Acquire(ctx, "k", distlock.Opts{}) })
		}
		for l.Waiting() < n {
			runtime.Gosched()
		}
	})
	t.Logf("%d B of heap for each waiter", bytes)
	if bytes > 1024 {
		t.Errorf("%d B of heap for each waiter, want at most 1024", bytes)
	}
	cancel()
	all.Wait()
	wantIs(t, held.Release(t.Context()))
	wantIs(t, l.Close())
}

// instant grants every request and stores nothing, so that only the caller is measured.
type instant struct{}

func (instant) Features() driver.Features { return driver.Features{} }

func (instant) TryAcquire(_ context.Context, r driver.Request) (driver.Grant, error) {
	g := r.Grant()
	g.Token, g.LastToken, g.Sent = 1, 1, time.Now()
	return g, nil
}

func (instant) Renew(_ context.Context, grants []driver.Grant, report func(int, error)) {
	for i := range grants {
		report(i, nil)
	}
}

func (instant) Release(context.Context, driver.Grant) error { return nil }

// Helpers of testkit, which the tests in test use, too.
var (
	bubble    = testkit.Bubble
	suspend   = testkit.Suspend
	wantCalls = testkit.WantCalls
	wantIs    = testkit.WantIs
)

// The options of a reader and of a writer.
var (
	reading = distlock.Opts{Mode: distlock.Shared}
	writing = distlock.Opts{}
)

// nothingLeft checks that neither the Locker nor the store has data of the key.
func nothingLeft(t *testing.T, l *distlock.Locker, s *testkit.Store) {
	t.Helper()
	synctest.Wait()
	if l.Keys() != 0 || l.Watched() != 0 || !s.Free(t, "k") {
		t.Errorf("left: %d keys, %d watched; free %v", l.Keys(), l.Watched(), s.Free(t, "k"))
	}
	if n, leases := l.UnderWay(); n != 0 || leases != 0 {
		t.Errorf("left: %d under way, %d leases to cancel", n, leases)
	}
}
