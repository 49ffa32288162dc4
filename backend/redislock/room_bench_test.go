package redislock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// crowd is the order of a process of BenchmarkPoller: the server, the interval of the poller
// or 0, and for how long the lock is held.
type crowd struct {
	Addr           string
	Interval, Hold time.Duration
}

const (
	crowdSize = 8
	crowdTime = 10 * time.Second
)

// BenchmarkPoller has a client that polls with SET NX every 100 ms beside two processes with
// eight busy goroutines each, without and with room for it. It reports for ten seconds how
// often ours had the lock, and how often and after what waits the poller had it:
//
//	go test -run '^$' -bench Poller -benchtime 1x ./backend/redislock
func BenchmarkPoller(b *testing.B) {
	for _, hold := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond} {
		for _, interval := range []time.Duration{0, pollEvery} {
			name := fmt.Sprintf("hold=%v/room=%v", hold, interval > 0)
			b.Run(name, func(b *testing.B) {
				s := realServer(b)
				for b.Loop() {
					turns, waits := besideCrowd(b, s, interval, hold)
					slices.Sort(waits)
					ms := func(i int) float64 { return float64(waits[i].Milliseconds()) }
					b.ReportMetric(float64(turns)/crowdTime.Seconds(), "locks/s")
					b.ReportMetric(float64(len(waits)-1), "polls-that-got-it")
					b.ReportMetric(ms(len(waits)/2), "median-wait-ms")
					b.ReportMetric(ms(len(waits)-1), "longest-wait-ms")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// besideCrowd returns how often the processes had the lock, and the waits of the poller, of
// which one is not over.
func besideCrowd(b *testing.B, s server, interval, hold time.Duration) (turns int, waits []time.Duration) {
	b.Helper()
	var processes []*testkit.Process
	for range 2 {
		processes = append(processes, testkit.StartChild(b, "crowd", crowd{s.real.Addr(), interval, hold}))
	}
	read := func() int {
		n := 0
		for _, p := range processes {
			var turns int
			p.Hear("turns", &turns)
			n += turns
		}
		return n
	}
	read() // they are busy
	start := time.Now()
	for end := start.Add(crowdTime); time.Now().Before(end); time.Sleep(pollEvery) {
		ok, err := s.SetNX(context.Background(), lockKey, pollersOwner, time.Minute).Result()
		if err != nil {
			b.Fatal(err)
		}
		if ok {
			waits = append(waits, time.Since(start))
			time.Sleep(5 * time.Millisecond)
			s.Del(context.Background(), lockKey)
			start = time.Now()
		}
	}
	return read(), append(waits, time.Since(start))
}

// beCrowd is one process: it says when it is busy, and then how often it had the lock.
func beCrowd(c *testkit.Child) error {
	var order crowd
	if err := c.Decode(&order); err != nil {
		return err
	}
	var opts []redislock.Option
	if order.Interval > 0 {
		opts = append(opts, redislock.WithPollers(order.Interval))
	}
	client := redis.NewClient(&redis.Options{Addr: order.Addr})
	defer client.Close()
	l := distlock.New(redislock.New(client, opts...), distlock.Config{})
	defer l.Close()

	const before = time.Second
	ctx, cancel := context.WithTimeout(context.Background(), before+crowdTime)
	defer cancel()
	var turns atomic.Int64
	var all sync.WaitGroup
	for range crowdSize {
		all.Go(func() {
			for ctx.Err() == nil {
				if lease, err := l.Acquire(ctx, lockKey, distlock.Opts{}); err == nil {
					time.Sleep(order.Hold)
					turns.Add(1)
					_ = lease.Release(context.Background())
				}
			}
		})
	}
	time.Sleep(before)
	c.Say("turns", turns.Swap(0))
	all.Wait()
	c.Say("turns", turns.Load())
	return nil
}
