package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/testmode"
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
				err := l.Site(o).Do(t.Context(), param, func(context.Context) error { ran = true; return nil })
				if err != nil || !ran {
					t.Errorf("%v: %v, ran: %t", param, err, ran)
					return
				}
			}
		})
	}
	all.Wait()
}

// usedMemory returns the memory that the server reports.
func (s server) usedMemory(t *testing.T) int {
	t.Helper()
	_, rest, _ := strings.Cut(s.Info(t.Context(), "memory").Val(), "\nused_memory:")
	digits, _, _ := strings.Cut(rest, "\r")
	return must(strconv.Atoi(digits))
}

// heapInUse returns the size of reachable objects in this process.
func heapInUse() int {
	runtime.GC()
	runtime.GC() // pools need a second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The keys are untrusted. Afterwards the process has removed all of them, and Redis
// keeps one small key for each, for the time of the retention.
//
// Row 21 (redislock): 20,000 random keys leave nothing in the process, and in Redis
// only fences that expire within 15 minutes. Fails if the gate keeps the queue of an
// unused key, or if the fence is stored without PX.
func TestRow21KeyFlood(t *testing.T) {
	testmode.Long(t)
	const n = 10_000 // for each of two processes
	const workers, maxKeys = 48, 64
	s := realServer(t)
	var lockers []*distlock.Locker
	var backends []*redislock.Backend
	for range 2 {
		b := redislock.New(s.real.Client(t), unhurried)
		backends = append(backends, b)
		l := distlock.New(b, distlock.Config{MaxKeys: maxKeys})
		lockers = append(lockers, l)
	}
	defer lockers[0].Close()
	defer lockers[1].Close()

	flood(t, lockers, workers, 1000, "first") // connections, pools, scripts
	s.FlushAll(t.Context())
	processBefore, serverBefore, goroutines := heapInUse(), s.usedMemory(t), runtime.NumGoroutine()
	flood(t, lockers, workers, n, "second")

	for _, b := range backends {
		eventually(t, "nobody waits, and no attempt is under way", func() bool { return b.Waiters() == 0 && b.InDoubt() == 0 })
	}
	const slack = 3 << 19 // a leaked key has at least a hundred bytes: 2 MB
	eventually(t, "the heap is as it was", func() bool { return heapInUse() < processBefore+slack })
	eventually(t, "the goroutines are as they were", func() bool { return runtime.NumGoroutine() < goroutines+workers })
	t.Logf("heap %+d B, goroutines %+d", heapInUse()-processBefore, runtime.NumGoroutine()-goroutines)

	// A leaked key would count.
	for _, l := range lockers {
		var held []*distlock.Lease
		for i := range maxKeys {
			lease, err := l.Acquire(t.Context(), "own:"+strconv.Itoa(i), distlock.Opts{RetryCount: 1})
			if err != nil {
				t.Fatalf("key %d of %d: %v", i, maxKeys, err)
			}
			held = append(held, lease)
		}
		if _, err := l.Acquire(t.Context(), "own:more", distlock.Opts{}); !errors.Is(err, distlock.ErrQueueFull) {
			t.Errorf("one more than MaxKeys: %v", err)
		}
		for _, lease := range held {
			noError(t, lease.Release(t.Context()))
		}
	}

	left := onlyFences(t, s, 2*n-n/8+maxKeys)
	grown := s.usedMemory(t) - serverBefore
	t.Logf("%d fences, %d B each", left, grown/left)
	if grown/left > 400 {
		t.Errorf("Redis keeps %d B for each of %d keys", grown/left, left)
	}
	endEarly(t, s)
	eventually(t, "the memory of Redis is as it was", func() bool {
		return s.DBSize(t.Context()).Val() == 0 && s.usedMemory(t) < serverBefore+slack
	})
}

// onlyFences checks that only fences with an expiry are left, and returns their number.
func onlyFences(t *testing.T, s server, most int) (n int) {
	t.Helper()
	ctx := t.Context()
	eachPart(t, s, func(keys []string) {
		pipe := s.Pipeline()
		ends := make([]*redis.DurationCmd, len(keys))
		for i, k := range keys {
			ends[i] = pipe.PTTL(ctx, k)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		for i, k := range keys {
			if ttl := ends[i].Val(); ttl <= 0 || ttl > redislock.Retention {
				t.Errorf("%s ends in %v", k, ttl)
			}
			if !strings.HasPrefix(k, "{shop:pay:") && !strings.HasPrefix(k, "{own:") || !strings.HasSuffix(k, "}:fence") {
				t.Errorf("%s is left", k)
			}
		}
		n += len(keys)
	})
	if n == 0 || n > most {
		t.Fatalf("%d keys are left, of at most %d locks", n, most)
	}
	return n
}

// endEarly ends the retention of all fences now.
func endEarly(t *testing.T, s server) {
	t.Helper()
	eachPart(t, s, func(keys []string) {
		pipe := s.Pipeline()
		for _, k := range keys {
			pipe.PExpire(t.Context(), k, time.Millisecond)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// eachPart calls f with all keys of the server, in parts.
func eachPart(t *testing.T, s server, f func(keys []string)) {
	t.Helper()
	keys := must(s.Keys(t.Context(), "*").Result())
	for len(keys) > 0 {
		part := keys[:min(len(keys), 1000)]
		keys = keys[len(part):]
		f(part)
	}
}

// The same in virtual time: a quarter of an hour after the flood Redis is empty.
//
// Row 21 (redislock): after the retention Redis is empty. Fails if the fence is
// stored without PX.
func TestRow21RetentionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		c := redistest.VirtualClient(t, m)
		l := distlock.New(redislock.New(c), distlock.Config{})
		defer l.Close()
		flood(t, []*distlock.Locker{l}, 8, 200, "virtual")
		for i := range 20 { // taken and abandoned, as by a process that dies
			_, err := newBackend(t, c).TryAcquire(t.Context(), request("dead:"+fmt.Sprint(i)))
			noError(t, err)
		}
		if got := len(m.Keys()); got != 200+2*20 {
			t.Errorf("%d keys", got)
		}
		time.Sleep(redislock.Retention - time.Second)
		if got := len(m.Keys()); got != 200+20 {
			t.Errorf("%d fences a second before the end", got)
		}
		time.Sleep(11 * time.Second) // and the lease of the dead process
		if got := m.Keys(); len(got) != 0 {
			t.Errorf("%d keys are left: %.10q", len(got), got)
		}
	})
}
