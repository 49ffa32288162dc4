package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The server stands still for longer than a lease. The holder is cancelled meanwhile,
// and another holder gets the lock afterwards.
//
// Row 9 (redislock): the holder is cancelled while the server sleeps, before another
// gets the lock. Fails if the holder trusts a lease for longer than it lasts.
func TestServerSleeps(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	opts := distlock.Opts{KeyTimeout: 2 * time.Second, RetryInterval: 50 * time.Millisecond}
	var lockers []*distlock.Locker
	var backends []*redislock.Backend
	for range 2 {
		b := redislock.New(s.real.Client(t))
		l := distlock.New(b, distlock.Config{})
		t.Cleanup(func() { _ = l.Close() })
		backends, lockers = append(backends, b), append(lockers, l)
	}
	lease := must(lockers[0].Acquire(t.Context(), lockKey, opts))
	next := make(chan *distlock.Lease)
	go func() {
		defer close(next)
		l, err := lockers[1].Acquire(t.Context(), lockKey, opts)
		if err != nil {
			t.Errorf("the next: %v", err)
			return
		}
		if lease.Check() == nil || l.Check() != nil {
			t.Errorf("the next one's lease is valid: %v; that of the one before: %v", l.Check() == nil, lease.Check() == nil)
		}
		next <- l
	}()
	testkit.Eventually(t, "another waits", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })

	over := s.real.Sleep(t, 6*time.Second)
	<-lease.Context().Done()
	select {
	case <-over:
		t.Error("the holder was told when the server went on")
	default:
	}
	matches(t, "the holder", lease.Check(), driver.ErrLost)
	l := <-next
	if l == nil {
		t.FailNow()
	}
	if l.Token() <= lease.Token() {
		t.Errorf("token %d after %d", l.Token(), lease.Token())
	}
	matches(t, "release by the one before", lease.Release(t.Context()), driver.ErrLost)
	matches(t, "the next", l.Release(t.Context()))
	for i, locker := range lockers {
		if err := locker.Close(); err != nil {
			t.Error(err)
		}
		if d, a := backends[i].InDoubt(), backends[i].InFlight(); d != 0 || a != 0 {
			t.Errorf("%d owners in doubt, %d batches in flight", d, a)
		}
	}
	nothingLeft(t, s.real)
}

// The server answers an acquisition after the end of its lease. The grant is not
// accepted, and is released.
//
// Row 9 (redislock): a grant that arrives after its lease is refused and released.
// Fails if a late grant is accepted, or if it is not released.
func TestLateGrant(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	b := redislock.New(s.real.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Minute }), redislock.WithOpTimeout(30*time.Second))
	locker := distlock.New(b, distlock.Config{})
	defer locker.Close()
	const ttl = 3 * time.Second
	warm := must(locker.Acquire(t.Context(), lockKey, distlock.Opts{KeyTimeout: ttl}))
	matches(t, "release", warm.Release(t.Context()))
	before := s.real.Stat(t, "expired_keys")

	end := s.real.Pause(t, time.Minute)
	time.AfterFunc(ttl+500*time.Millisecond, end)
	start := time.Now()
	_, err := locker.TryAcquire(t.Context(), lockKey, distlock.Opts{KeyTimeout: ttl})
	if d := time.Since(start); d < ttl {
		t.Errorf("it was answered after %v", d)
	}
	matches(t, "a grant that comes late", err, distlock.ErrUnavailable)
	testkit.Eventually(t, "the key is gone", func() bool { return s.Exists(context.Background(), lockKey).Val() == 0 })
	if n := s.real.Stat(t, "expired_keys") - before; n != 0 {
		t.Error("it was not given back, it has ended")
	}
}

// The same over a slow network, to the millisecond.
//
// Row 9 (redislock): a grant that arrives after its lease is refused and released.
// Fails if a late grant is accepted, or if it is not released.
func TestSlowNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		n := spoilnet.To(m.Dial)
		c := redistest.VirtualClient(t, m, func(o *redis.Options) { o.Dialer, o.ReadTimeout, o.WriteTimeout = n.DialContext, -1, -1 })
		locker := distlock.New(redislock.New(c, redislock.WithOpTimeout(time.Minute)), distlock.Config{})
		defer locker.Close()
		opts := distlock.Opts{KeyTimeout: 3 * time.Second}
		for _, late := range []time.Duration{opts.KeyTimeout - 33*time.Millisecond, opts.KeyTimeout - 32*time.Millisecond} {
			warm := must(locker.Acquire(t.Context(), lockKey, opts))
			matches(t, "release", warm.Release(t.Context()))
			synctest.Wait()
			n.HoldAt(scriptCall)
			time.AfterFunc(late, func() {
				if err := n.Deliver(); err != nil {
					t.Error(err)
				}
			})
			lease, err := locker.TryAcquire(t.Context(), lockKey, opts)
			// The margin is 1 % and 2 ms.
			if late < opts.KeyTimeout-32*time.Millisecond {
				matches(t, "a grant in time", err)
				if lease.Check() == nil {
					matches(t, "its release", lease.Release(t.Context()))
				}
				continue
			}
			matches(t, "a grant that comes late", err, distlock.ErrUnavailable)
			synctest.Wait()
			time.Sleep(time.Second) // of its three seconds
			if left := m.Keys(); len(left) != 1 {
				t.Errorf("left behind: %q", left)
			}
		}
	})
}

// The server delays the renewals of hundreds of leases, which fall due in dozens of
// batches. Few batches are sent; when the server continues, every lease is renewed.
//
// Row 9 (redislock): few of hundreds of renewals are at the server at once, and no
// lease is lost. Fails if the number of renewals in progress for one server has no
// limit.
func TestRenewalsDoNotPileUp(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	const leases, ttl, limit, patience = 300, 9 * time.Second, time.Second, 2 * time.Second
	b := redislock.New(s.real.Client(t, func(o *redis.Options) {
		o.PoolSize, o.ReadTimeout = 1000, patience // an abandoned renewal stays at the server for that long
	}), redislock.WithOpTimeout(limit))
	locker := distlock.New(b, distlock.Config{})
	defer locker.Close()
	held := make([]*distlock.Lease, leases)
	spread := time.NewTicker(ttl / 3 / leases) // so that the renewals are not due together
	defer spread.Stop()
	for i := range held {
		<-spread.C
		held[i] = must(locker.Acquire(t.Context(), fmt.Sprint("k", i), distlock.Opts{KeyTimeout: ttl}))
	}

	end := s.real.Pause(t, time.Minute)
	blocked := func() int { return s.real.Stat(t, "blocked_clients") }
	testkit.Eventually(t, "renewals are kept back", func() bool { return blocked() > 0 })
	most := 0
	for start := time.Now(); time.Since(start) < 5*limit/2; {
		most = max(most, blocked())
	}
	end()
	on := time.Now()
	testkit.Eventually(t, "all are renewed", func() bool {
		for _, l := range held {
			if l.Until().Before(on.Add(ttl / 2)) {
				return false
			}
		}
		return true
	})
	// At most four are in progress, each for as long as the limit.
	if bound := 4 * int(patience/limit+1); most > bound {
		t.Errorf("%d renewals were at the server at once, want %d at most", most, bound)
	}
	t.Logf("%d at the server", most)
	for _, l := range held {
		matches(t, "a lease", l.Release(t.Context()))
	}
	nothingLeft(t, s.real)
}
