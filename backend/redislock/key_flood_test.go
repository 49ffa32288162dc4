package redislock_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/wiring"
)

// flood has many goroutines of each locker lock n random keys, each once, or twice if
// two lockers choose the same.
func flood(t *testing.T, lockers []*distlock.Locker, workers, n int, name string) {
	t.Helper()
	kinds := []distlock.Opts{{}, {}, {}, {Mode: driver.Shared}, {Permits: 2}}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			l := lockers[w%len(lockers)]
			for i := w / len(lockers); i < n; i += workers / len(lockers) {
				o := kinds[i%len(kinds)]
				o.Prefix, o.Value, o.ParamLock = "shop:", "pay", true
				// One key in eight is wanted by every locker.
				param := []any{name, i, w % len(lockers)}
				if i%8 == 0 {
					param = param[:2]
				}
				ran := false
				err := wiring.Bind(l, o).Do(t.Context(), param, func(context.Context) error { ran = true; return nil })
				if err != nil || !ran {
					t.Errorf("%v: %v, ran: %t", param, err, ran)
					return
				}
			}
		})
	}
	all.Wait()
}

// heapInUse returns the size of reachable objects in this process.
func heapInUse() int {
	runtime.GC()
	runtime.GC() // pools need a second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Row 21 (redislock): 20,000 random keys leave nothing in the process, and nothing in
// Redis but the clock. Fails if the gate keeps the queue of an unused key, or if each
// release leaves a tombstone.
func TestKeyFlood(t *testing.T) {
	testmode.Long(t)
	const n = 10_000 // for each of two processes
	const workers = 48
	s := realServer(t)
	// A busy machine has more connections at once in the second flood.
	small := func(o *redis.Options) { o.ReadBufferSize, o.WriteBufferSize = 2<<10, 2<<10 }
	var backends []*redislock.Backend
	var lockers []*distlock.Locker
	for range 2 {
		b := redislock.Open(s.real.Client(t, small), unhurried)
		backends, lockers = append(backends, b), append(lockers, testkit.NewLocker(t, b, distlock.Config{}))
	}

	flood(t, lockers, workers, 1000, "first") // connections, pools, scripts
	s.FlushAll(t.Context())
	processBefore, serverBefore, goroutines := heapInUse(), s.real.Stat(t, "used_memory"), runtime.NumGoroutine()
	flood(t, lockers, workers, n, "second")

	for _, b := range backends {
		testkit.Eventually(t, "nobody waits, and no attempt is under way", func() bool { return b.Waiters() == 0 && b.InDoubt() == 0 })
	}
	const slack = 3 << 19 // a leaked key has at least a hundred bytes: 2 MB
	testkit.Eventually(t, "the heap is as it was", func() bool { return heapInUse() < processBefore+slack })
	testkit.Eventually(t, "the goroutines are as they were", func() bool { return runtime.NumGoroutine() < goroutines+workers })
	t.Logf("heap %+d B, goroutines %+d", heapInUse()-processBefore, runtime.NumGoroutine()-goroutines)

	tombstones := 0
	for _, k := range s.Keys(t.Context(), "*").Val() {
		// An attempt is in doubt if its answer was late.
		if strings.HasSuffix(k, "}:gone") && s.PTTL(t.Context(), k).Val() > 0 {
			tombstones++
		} else if k != clockKey {
			t.Errorf("%q is left", k)
		}
	}
	if tombstones > n/20 {
		t.Errorf("%d locks have left tombstones", tombstones)
	}
	testkit.Eventually(t, "the memory of Redis is as it was", func() bool { return s.real.Stat(t, "used_memory") < serverBefore+slack })
}
