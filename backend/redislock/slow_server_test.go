package redislock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The server stands still for longer than a lease.
//
// Row 9 (redislock): the holder is cancelled while the server sleeps, before another
// gets the lock. Fails if the holder trusts a lease for longer than it lasts.
func TestServerSleeps(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	opts := distlock.Opts{KeyTimeout: 2 * time.Second, RetryInterval: 50 * time.Millisecond}
	one := testkit.NewLocker(t, redislock.New(s.real.Client(t)), distlock.Config{})
	two := testkit.NewLocker(t, redislock.New(s.real.Client(t)), distlock.Config{})
	lease := must(one.Acquire(t.Context(), lockKey, opts))
	next := make(chan *distlock.Lease)
	go func() {
		defer close(next)
		l, err := two.Acquire(t.Context(), lockKey, opts)
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
	nothingLeft(t, s.real)
}

// Row 9 (redislock): a grant that arrives after its lease is refused and released.
// Fails if a late grant is accepted, or if it is not released.
func TestSlowNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		c, n := overNetwork(t, m, func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -1, -1 })
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
