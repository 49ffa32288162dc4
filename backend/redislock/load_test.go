package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// load has the workers of a few processes, which lock and unlock.
type load struct {
	t       testing.TB
	reg     testkit.Register // lenient while a master is replaced by a replica that may be behind
	lockers []*distlock.Locker
	peers   []*redislock.Backend // the backends of lockers
	keys    []string             // wanted by all of them
	opts    distlock.Opts

	stopping atomic.Bool
	workers  sync.WaitGroup
}

// loadOpts has a lease that is shorter than a load, but longer than the pauses of a
// slow machine.
var loadOpts = distlock.Opts{KeyTimeout: 4 * time.Second, RetryInterval: 50 * time.Millisecond}

func newLoad(t testing.TB, keys []string, clients ...redis.UniversalClient) *load {
	t.Helper()
	l := &load{t: t, keys: keys, opts: loadOpts}
	for i, c := range clients {
		b := redislock.Open(c, redislock.Config{})
		cfg := distlock.Config{HandOverTime: time.Millisecond}
		if i == 0 {
			cfg.HandOverTime = -1 // see once
		}
		locker := distlock.New(b, cfg)
		l.peers, l.lockers = append(l.peers, b), append(l.lockers, locker)
	}
	t.Cleanup(func() {
		l.stopping.Store(true)
		for _, locker := range l.lockers {
			_ = locker.Close()
		}
		l.workers.Wait()
	})
	return l
}

// start starts some workers of each locker on the common keys, and some on their own
// keys.
func (l *load) start(onAll, onOwn int) {
	for i, locker := range l.lockers {
		for w := range onAll {
			l.workers.Go(func() { l.work(locker, l.keys, i*onAll+w) })
		}
		for w := range onOwn {
			l.workers.Go(func() { l.work(locker, []string{fmt.Sprintf("own:%d:%d", i, w)}, 0) })
		}
	}
}

func (l *load) work(locker *distlock.Locker, keys []string, n int) {
	for ; !l.stopping.Load(); n++ {
		// A worker that waits for half a minute is stuck.
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		l.once(ctx, locker, keys[n%len(keys)])
		cancel()
	}
}

// once acquires a lock and releases it.
func (l *load) once(ctx context.Context, locker *distlock.Locker, key string) {
	// While a master is replaced, a process can hand over inside a grant that the new
	// master has not heard of, after a holder of that master has left. So its token may
	// be below; the tokens of the first process, which does not hand over, are not.
	var above uint64
	if locker == l.lockers[0] {
		above = l.reg.Left(key)
	}
	s, err := locker.Acquire(ctx, key, l.opts)
	if errors.Is(err, distlock.ErrClosed) {
		return // the test has failed
	}
	if err != nil {
		l.t.Errorf("%s: %v", key, err)
		return
	}
	l.reg.EnterLease(l.t, s, above)
	select {
	case <-time.After(time.Millisecond):
	case <-s.Context().Done():
	}
	l.reg.Leave(key, s.Token())
	if err := s.Release(ctx); err != nil && !errors.Is(err, distlock.ErrUnavailable) && !errors.Is(err, driver.ErrLost) {
		l.t.Errorf("%s: release: %v", key, err)
	}
}

// goOn waits until there were n more holders.
func (l *load) goOn(n int) {
	l.t.Helper()
	end := l.reg.Uses() + n
	testkit.Eventually(l.t, fmt.Sprintf("%d more are served", n), func() bool { return l.reg.Uses() >= end })
}

// stop ends the load; all waiters must be served. Then each locker must get every key
// at once.
func (l *load) stop() {
	l.t.Helper()
	l.stopping.Store(true)
	l.workers.Wait()
	for _, locker := range l.lockers {
		for _, key := range l.keys {
			ctx, cancel := context.WithTimeout(context.Background(), l.opts.KeyTimeout+10*time.Second)
			l.once(ctx, locker, key)
			cancel()
		}
	}
	for i, locker := range l.lockers {
		if err := locker.Close(); err != nil {
			l.t.Errorf("Close: %v", err)
		}
		if n := l.peers[i].Waiters(); n != 0 {
			l.t.Errorf("%d waiters left", n)
		}
	}
}
