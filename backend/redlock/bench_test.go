package redlock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// BenchmarkLockUnlock compares five healthy nodes with five nodes of which two hang.
// The ratio counts.
func BenchmarkLockUnlock(b *testing.B) {
	for _, c := range []struct {
		name string
		hung []int
	}{{"healthy", nil}, {"two-hung", []int{1, 3}}} {
		b.Run(c.name, func(b *testing.B) {
			f := realFleet(b, 5)
			backend := newBackend(b, f.clients())
			f.warm(b, backend)
			for _, i := range c.hung {
				f.servers[i].Stop()
			}
			b.ReportAllocs()
			for b.Loop() {
				g, err := backend.TryAcquire(context.Background(), request())
				if err != nil {
					b.Fatal(err)
				}
				if err := backend.Release(context.Background(), g); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			for _, i := range c.hung {
				f.servers[i].Cont()
			}
		})
	}
}

// polls hides the abilities of a backend but those of every one.
type polls struct{ driver.Backend }

// BenchmarkHandOver measures how long after a release another process has the key, with
// and without the messages of the nodes. The other processes wait with the defaults, and
// each of them has the key in turn.
func BenchmarkHandOver(b *testing.B) {
	for _, nodes := range []int{3, 5} {
		for _, waiters := range []int{1, 2, 7} {
			for _, woken := range []bool{true, false} {
				b.Run(fmt.Sprintf("%dnodes/%dwait/woken=%t", nodes, waiters, woken), func(b *testing.B) {
					f := realFleet(b, nodes)
					handOvers(b, f, waiters+1, woken)
				})
			}
		}
	}
}

func handOvers(b *testing.B, f *fleet, processes int, woken bool) {
	b.Helper()
	lockers := make([]*distlock.Locker, processes)
	for i := range lockers {
		var backend driver.Backend = f.backend(b)
		if !woken {
			backend = polls{backend}
		}
		lockers[i] = distlock.New(backend, distlock.Config{})
	}
	released := make(chan time.Time, 1) // by the last holder
	released <- time.Time{}
	taken := sync.NewCond(new(sync.Mutex))
	turns := 0
	var delays []time.Duration
	b.ResetTimer()
	var all sync.WaitGroup
	for _, l := range lockers {
		all.Go(func() {
			for {
				s, err := l.Acquire(context.Background(), lockKey, distlock.Opts{})
				if err != nil {
					b.Error(err)
					return
				}
				delay := time.Since(<-released)
				taken.L.Lock()
				if turns++; turns > 1 {
					delays = append(delays, delay)
				}
				turn, over := turns, turns > b.N
				taken.Broadcast()
				taken.L.Unlock()
				time.Sleep(5 * time.Millisecond) // the others wait again
				released <- time.Now()
				if err := s.Release(context.Background()); err != nil {
					b.Error(err)
				}
				if over {
					return
				}
				taken.L.Lock()
				for turns == turn { // the next turn is that of another
					taken.Wait()
				}
				taken.L.Unlock()
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(delays)
	for name, at := range map[string]int{"median-µs": len(delays) / 2, "p95-µs": len(delays) * 95 / 100, "max-µs": len(delays) - 1} {
		b.ReportMetric(float64(delays[at].Microseconds()), name)
	}
	for _, l := range lockers {
		_ = l.Close()
	}
}
