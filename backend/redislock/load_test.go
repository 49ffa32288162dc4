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
)

// register is the resource that the locks of a load protect, in the memory of the test.
// It sees the holders and their tokens.
//
// In calm times holders with valid leases must be alone, and tokens must rise from one
// to the next. While a master is replaced by a replica that may be behind, that is not
// promised for current holders; but a token never occurs twice, is never below the
// token of a holder that left before the request, and is never below a token from calm
// times.
type register struct {
	t      testing.TB
	noise  atomic.Bool
	grants atomic.Int64

	mu   sync.Mutex
	keys map[string]*registered
}

type registered struct {
	inside map[*distlock.Lease]bool // true: entered in calm times
	calm   uint64                   // the highest token of holders that entered in calm times
	left   uint64                   // the highest token of holders that have left
	seen   map[uint64]bool
}

func newRegister(t testing.TB) *register {
	t.Helper()
	return &register{t: t, keys: make(map[string]*registered)}
}

func (r *register) of(key string) *registered {
	k := r.keys[key]
	if k == nil {
		k = &registered{inside: make(map[*distlock.Lease]bool), seen: make(map[uint64]bool)}
		r.keys[key] = k
	}
	return k
}

// ask is called before a request for a key. The token must be larger than its result.
func (r *register) ask(key string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of(key).left
}

func (r *register) enter(s *distlock.Lease, above uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, token, calm := r.of(s.Key()), s.Token(), !r.noise.Load()
	for other, wasCalm := range k.inside {
		if calm && wasCalm && other.Valid() && s.Valid() {
			r.t.Errorf("%s: %d came in while %d was inside", s.Key(), token, other.Token())
		}
	}
	if k.seen[token] {
		r.t.Errorf("%s: token %d came twice", s.Key(), token)
	}
	if token <= max(above, k.calm) {
		r.t.Errorf("%s: token %d after %d and %d", s.Key(), token, above, k.calm)
	}
	if calm {
		k.calm = max(k.calm, token)
	}
	k.seen[token], k.inside[s] = true, calm
	r.grants.Add(1)
}

// leave is called before the release.
func (r *register) leave(s *distlock.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.of(s.Key())
	delete(k.inside, s)
	k.left = max(k.left, s.Token())
}

// served returns the number of holders so far.
func (r *register) served() int64 { return r.grants.Load() }

// load has the workers of a few processes, which lock and unlock.
type load struct {
	t       testing.TB
	reg     *register
	lockers []*distlock.Locker
	peers   []*redislock.Backend // the backends of lockers
	keys    []string             // wanted by all of them
	opts    distlock.Opts

	stopping atomic.Bool
	workers  sync.WaitGroup

	mu     sync.Mutex
	errors map[string]int // errors of releases, by kind
}

// loadOpts has a lease that is shorter than a load, but longer than the pauses of a
// slow machine.
var loadOpts = distlock.Opts{KeyTimeout: 4 * time.Second, RetryInterval: 50 * time.Millisecond}

func newLoad(t testing.TB, keys []string, clients ...redis.UniversalClient) *load {
	t.Helper()
	l := &load{t: t, reg: newRegister(t), keys: keys, opts: loadOpts, errors: make(map[string]int)}
	for _, c := range clients {
		b := redislock.New(c)
		locker := distlock.New(b, distlock.Config{HandOvers: 4})
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
	above := l.reg.ask(key)
	s, err := locker.Acquire(ctx, key, l.opts)
	if errors.Is(err, distlock.ErrClosed) {
		return // the test has failed
	}
	if err != nil {
		l.t.Errorf("%s: %v", key, err)
		return
	}
	l.reg.enter(s, above)
	select {
	case <-time.After(time.Millisecond):
	case <-s.Context().Done():
	}
	l.reg.leave(s)
	err = s.Release(ctx)
	kind := "released"
	switch {
	case err == nil:
	case errors.Is(err, distlock.ErrUnavailable):
		kind = "unavailable"
	case errors.Is(err, driver.ErrLost):
		kind = "lost"
	default:
		l.t.Errorf("%s: release: %v", key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors[kind]++
}

// told returns how many releases returned that kind of error.
func (l *load) told(kind string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errors[kind]
}

// goOn waits until there were n more holders.
func (l *load) goOn(n int64) {
	l.t.Helper()
	end := l.reg.served() + n
	eventually(l.t, fmt.Sprintf("%d more are served", n), func() bool { return l.reg.served() >= end })
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
