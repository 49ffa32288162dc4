package redislock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/redistest"
)

const pollEvery = 100 * time.Millisecond

// fleet is two processes with goroutines that all want the same key, and a client of another
// library that polls for it, as SET NX does.
type fleet struct {
	m       *miniredis.Miniredis
	lockers []*distlock.Locker
	poller  *redis.Client

	mu     sync.Mutex
	inside int
	turns  int             // of the goroutines
	got    []time.Duration // how long the poller waited
}

func newFleet(t *testing.T, cfg distlock.Config, opts ...redislock.Option) *fleet {
	t.Helper()
	m := redistest.Virtual(t)
	f := &fleet{m: m, poller: redistest.VirtualClient(t, m)}
	for range 2 {
		l := distlock.New(newBackend(t, redistest.VirtualClient(t, m), opts...), cfg)
		t.Cleanup(func() { _ = l.Close() })
		f.lockers = append(f.lockers, l)
	}
	return f
}

func (f *fleet) enter(t *testing.T, hold time.Duration) {
	f.mu.Lock()
	if f.inside++; f.inside > 1 {
		t.Error("two are inside")
	}
	f.mu.Unlock()
	time.Sleep(hold)
	f.mu.Lock()
	f.inside--
	f.mu.Unlock()
}

// run lets so many goroutines of each process work for that time, and the poller poll.
func (f *fleet) run(t *testing.T, goroutines int, hold, d time.Duration, o distlock.Opts) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	for _, l := range f.lockers {
		for range goroutines {
			wg.Go(func() {
				for ctx.Err() == nil {
					lease, err := l.Acquire(ctx, lockKey, o)
					if err != nil {
						if ctx.Err() == nil {
							t.Error(err)
						}
						return
					}
					f.enter(t, hold)
					f.mu.Lock()
					f.turns++
					f.mu.Unlock()
					if err := lease.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Go(func() { f.poll(ctx, t) })
	wg.Wait()
}

// poll does what an aspect with SET NX does, again and again.
func (f *fleet) poll(ctx context.Context, t *testing.T) {
	for start := time.Now(); ctx.Err() == nil; time.Sleep(pollEvery) {
		ok, err := f.poller.SetNX(t.Context(), lockKey, "a16b0fc8-2a5f-4f2c-9c33-6d7f3b1de8aa", time.Minute).Result()
		if err != nil {
			t.Error(err)
			return
		}
		if !ok {
			continue
		}
		f.got = append(f.got, time.Since(start))
		f.enter(t, 5*time.Millisecond)
		if err := f.poller.Del(t.Context(), lockKey).Err(); err != nil {
			t.Error(err)
		}
		start = time.Now()
	}
}

func TestVirtualPoller(t *testing.T) {
	for name, opts := range map[string][]redislock.Option{
		"without": nil,
		"with":    {redislock.WithPollers(pollEvery)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, distlock.Config{}, opts...)
				f.run(t, 8, 5*time.Millisecond, time.Minute, distlock.Opts{})
				t.Logf("%d turns, the poller: %v", f.turns, f.got)
			})
		})
	}
}
