package distlock_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

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
	n := 100_000
	if testkit.Race {
		n = 10_000 // a smaller number gives the same size and takes less time
	}
	l := distlock.New(testkit.Instant{}, distlock.Config{})
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
	l := distlock.New(testkit.Instant{}, distlock.Config{})
	held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	bytes, _ := heapPer(n, func() {
		for range n {
			all.Go(func() { _, _ = l.Acquire(ctx, "k", distlock.Opts{}) })
		}
		for l.Waiting("k") < n {
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
