//go:build unix

package redislock_test

import (
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
)

// BenchmarkHeld holds 100,000 leases of 30 s for 30 s, and each is renewed three times.
// Run it with -benchtime 1x.
func BenchmarkHeld(b *testing.B) {
	const leases, lease = 100_000, 30 * time.Second
	s := realServer(b)
	l := distlock.New(redislock.New(s.Client, redislock.Config{}), distlock.Config{})
	defer l.Close()
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, running := heap(), runtime.NumGoroutine()
	held := make([]*distlock.Lease, leases)
	each := func(f func(i int)) {
		var all sync.WaitGroup
		for from := range 1000 {
			all.Go(func() {
				for i := from; i < leases; i += 1000 {
					f(i)
				}
			})
		}
		all.Wait()
	}
	each(func(i int) {
		var err error
		if held[i], err = l.Acquire(b.Context(), strconv.Itoa(i), distlock.Opts{KeyTimeout: lease}); err != nil {
			b.Error(err)
		}
	})
	if b.Failed() {
		return
	}
	perLease := float64(heap()-before) / leases

	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	most := 0
	for b.Loop() {
		used, start := cpu(), time.Now()
		for tick := time.Tick(100 * time.Millisecond); time.Since(start) < lease; <-tick {
			most = max(most, runtime.NumGoroutine()-running)
		}
		b.ReportMetric(100*float64(cpu()-used)/float64(time.Since(start)), "%core")
	}
	b.ReportMetric(perLease, "B/lease")
	b.ReportMetric(float64(most), "goroutines")
	b.ReportMetric(0, "ns/op")
	each(func(i int) {
		if err := held[i].Release(b.Context()); err != nil {
			b.Error(err)
		}
	})
}
