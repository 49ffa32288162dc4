package redislock_test

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
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

// Processes die and leave what ends by itself.
//
// Row 21 (redislock): after the retention only the clock is left in Redis. Fails if
// tombstones are stored without an expiry.
func TestRetentionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		c := redistest.VirtualClient(t, m)
		l := distlock.New(redislock.New(c, redislock.Config{}), distlock.Config{})
		defer l.Close()
		flood(t, []*distlock.Locker{l}, 8, 200, "virtual")
		if got := m.Keys(); !slices.Equal(got, []string{clockKey}) {
			t.Errorf("%d keys are left: %q", len(got), got[:min(len(got), 10)])
		}
		b := newBackend(t, c)
		for i := range 20 {
			dead := request("dead:" + strconv.Itoa(i)) // taken and abandoned, as by a process that dies
			must(b.TryAcquire(t.Context(), dead))
			waiter := request(dead.Key)
			_, err := testkit.Await(t.Context(), b, waiter, testkit.Looks{Every: time.Millisecond, Attempts: 2})
			matches(t, "a waiter", err, driver.ErrNotAcquired)

			taken := request("taken:" + strconv.Itoa(i))
			must(b.TryAcquire(t.Context(), taken))
			must(b.ForceRelease(t.Context(), taken.Key))
		}
		if got := len(m.Keys()); got != 1+3*20 {
			t.Errorf("%d keys", got)
		}
		time.Sleep(redislock.TombstoneTTL - time.Second)
		if got := len(m.Keys()); got != 1+20 {
			t.Errorf("%d keys a second before the end", got)
		}
		time.Sleep(2 * time.Second)
		if got := m.Keys(); !slices.Equal(got, []string{clockKey}) {
			t.Errorf("%d keys are left: %q", len(got), got[:min(len(got), 10)])
		}
	})
}
