package redislock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/redistest"
)

const (
	pollEvery = 100 * time.Millisecond
	roomFor   = 135 * time.Millisecond // a quarter longer, and 10 ms

	// pollersOwner is what an aspect sets the key to.
	pollersOwner = "a16b0fc8-2a5f-4f2c-9c33-6d7f3b1de8aa"
)

// fleet is some processes with goroutines that all want lockKey, and a client of another
// library that polls for it.
type fleet struct {
	*testing.T

	lockers []*distlock.Locker
	poller  *redis.Client

	mu               sync.Mutex
	exclusive, share int // holders inside
	turns            int
	longest          time.Duration // that the poller waited
	got              int           // turns of the poller
}

// newFleet returns a fleet with a process for each set of options.
func newFleet(t *testing.T, cfg distlock.Config, processes ...[]redislock.Option) *fleet {
	t.Helper()
	m := redistest.Virtual(t)
	f := &fleet{T: t, poller: redistest.VirtualClient(t, m)}
	for _, opts := range processes {
		l := distlock.New(newBackend(t, redistest.VirtualClient(t, m), opts...), cfg)
		t.Cleanup(func() { _ = l.Close() })
		f.lockers = append(f.lockers, l)
	}
	return f
}

// hold holds the lock for d and checks that no other does.
func (f *fleet) hold(d time.Duration, shared bool) {
	f.mu.Lock()
	if f.exclusive > 0 || f.share > 0 && !shared {
		f.Error("two are inside")
	}
	inside := &f.exclusive
	if shared {
		inside = &f.share
	}
	*inside++
	f.turns++
	f.mu.Unlock()
	time.Sleep(d)
	f.mu.Lock()
	*inside--
	f.mu.Unlock()
}

// run lets so many goroutines of each process work for d, and then the poller, too, for twice
// as long. Each goroutine holds the lock for the time hold.
func (f *fleet) run(goroutines int, hold, d time.Duration, o distlock.Opts) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 3*d)
	defer cancel()
	var wg sync.WaitGroup
	for _, l := range f.lockers {
		for i := range goroutines {
			wg.Go(func() {
				time.Sleep(hold * time.Duration(i) / time.Duration(goroutines)) // readers begin one after the other
				for ctx.Err() == nil {
					lease, err := l.Acquire(ctx, lockKey, o)
					if err != nil {
						if ctx.Err() == nil {
							f.Error(err)
						}
						return
					}
					f.hold(hold, o.Mode == distlock.Shared || o.Permits > 0)
					if err := lease.Release(f.Context()); err != nil {
						f.Error(err)
					}
				}
			})
		}
	}
	time.Sleep(d)
	f.poll(ctx)
	wg.Wait()
}

// poll does what a loop around SET NX does.
func (f *fleet) poll(ctx context.Context) {
	f.Helper()
	for start := time.Now(); ctx.Err() == nil; time.Sleep(pollEvery) {
		ok, err := f.poller.SetNX(f.Context(), lockKey, pollersOwner, time.Minute).Result()
		if err != nil {
			f.Fatal(err)
		}
		f.longest = max(f.longest, time.Since(start))
		if ok {
			f.got++
			f.hold(5*time.Millisecond, false)
			f.poller.Del(f.Context(), lockKey)
			start = time.Now()
		}
	}
}

// TestVirtualPoller has a client that polls beside busy goroutines. Without the option it
// gets nothing. With the option it gets a turn in less than two seconds, always.
func TestVirtualPoller(t *testing.T) {
	none := []redislock.Option(nil)
	room := []redislock.Option{redislock.WithPollers(pollEvery)}
	for name, c := range map[string]struct {
		processes  [][]redislock.Option
		goroutines int
		hold       time.Duration
		cfg        distlock.Config
		opts       distlock.Opts
		starves    bool
	}{
		"two processes, without":        {[][]redislock.Option{none, none}, 8, 20 * time.Millisecond, distlock.Config{}, distlock.Opts{}, true},
		"two processes":                 {[][]redislock.Option{room, room}, 8, 20 * time.Millisecond, distlock.Config{}, distlock.Opts{}, false},
		"one goroutine each":            {[][]redislock.Option{room, room}, 1, 20 * time.Millisecond, distlock.Config{}, distlock.Opts{}, false},
		"one process":                   {[][]redislock.Option{room}, 8, 20 * time.Millisecond, distlock.Config{}, distlock.Opts{}, false},
		"a lease that is extended":      {[][]redislock.Option{room}, 8, 5 * time.Millisecond, distlock.Config{HandOverTime: time.Hour}, distlock.Opts{}, false},
		"the same, without":             {[][]redislock.Option{none}, 8, 10 * time.Millisecond, distlock.Config{HandOverTime: time.Hour}, distlock.Opts{}, true},
		"nothing is handed over":        {[][]redislock.Option{room, room}, 8, 20 * time.Millisecond, distlock.Config{HandOvers: -1}, distlock.Opts{}, false},
		"one process, not handed over":  {[][]redislock.Option{room}, 8, 50 * time.Millisecond, distlock.Config{HandOvers: -1}, distlock.Opts{}, false},
		"held for a while by each":      {[][]redislock.Option{room, room}, 2, 700 * time.Millisecond, distlock.Config{HandOvers: -1}, distlock.Opts{}, false},
		"kept after the release":        {[][]redislock.Option{room, room}, 2, 10 * time.Millisecond, distlock.Config{}, distlock.Opts{MinHold: 300 * time.Millisecond}, false},
		"readers that overlap, without": {[][]redislock.Option{none, none}, 3, 20 * time.Millisecond, distlock.Config{}, distlock.Opts{Mode: distlock.Shared}, true},
		"readers that overlap":          {[][]redislock.Option{room, room}, 3, 20 * time.Millisecond, distlock.Config{}, distlock.Opts{Mode: distlock.Shared}, false},
		"permits":                       {[][]redislock.Option{room, room}, 3, 20 * time.Millisecond, distlock.Config{}, distlock.Opts{Permits: 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, c.cfg, c.processes...)
				const d = 3 * time.Second
				f.run(c.goroutines, c.hold, d, c.opts)
				t.Logf("%d turns in all, %d of the poller, which waited for %v at most", f.turns, f.got, f.longest)
				switch {
				case c.starves && f.got > 0:
					t.Errorf("the poller got %d turns without room: the test shows nothing", f.got)
				case !c.starves && (f.longest > 2*time.Second || f.got < 3):
					t.Errorf("the poller got %d turns and waited for %v", f.got, f.longest)
				}
			})
		})
	}
}
