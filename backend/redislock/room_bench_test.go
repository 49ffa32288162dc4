package redislock_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
)

// crowdEnv makes the test binary one process of BenchmarkPoller. Its value is the address of
// the server, the interval of the poller or 0, and for how long the lock is held.
const crowdEnv = "DISTLOCK_TEST_CROWD"

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
	var outs []*bufio.Scanner
	for range 2 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %v %v", crowdEnv, s.real.Addr(), interval, hold))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = cmd.Wait() }) // what it printed counts
		outs = append(outs, bufio.NewScanner(out))
	}
	read := func() int {
		n := 0
		for _, out := range outs {
			if !out.Scan() {
				b.Fatal("a process has ended")
			}
			turns, err := strconv.Atoi(out.Text())
			if err != nil {
				b.Fatal(err)
			}
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

// beCrowd is one process: it prints a line when it is busy, and how often it had the lock.
func beCrowd(args string) error {
	words := strings.Fields(args)
	interval, err := time.ParseDuration(words[1])
	if err != nil {
		return err
	}
	hold, err := time.ParseDuration(words[2])
	if err != nil {
		return err
	}
	var opts []redislock.Option
	if interval > 0 {
		opts = append(opts, redislock.WithPollers(interval))
	}
	client := redis.NewClient(&redis.Options{Addr: words[0]})
	defer client.Close()
	l := distlock.New(redislock.New(client, opts...), distlock.Config{})
	defer l.Close()

	const before = time.Second
	ctx, cancel := context.WithTimeout(context.Background(), before+crowdTime)
	defer cancel()
	var turns atomic.Int64
	var crowd sync.WaitGroup
	for range crowdSize {
		crowd.Go(func() {
			for ctx.Err() == nil {
				if lease, err := l.Acquire(ctx, lockKey, distlock.Opts{}); err == nil {
					time.Sleep(hold)
					turns.Add(1)
					_ = lease.Release(context.Background())
				}
			}
		})
	}
	time.Sleep(before)
	fmt.Println(turns.Swap(0))
	crowd.Wait()
	fmt.Println(turns.Load())
	return nil
}
