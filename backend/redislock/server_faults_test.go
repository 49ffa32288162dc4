package redislock_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
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
	one := testkit.NewLocker(t, redislock.New(s.real.Client(t), redislock.Config{}), distlock.Config{})
	two := testkit.NewLocker(t, redislock.New(s.real.Client(t), redislock.Config{}), distlock.Config{})
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
		locker := distlock.New(redislock.New(c, redislock.Config{OpTimeout: time.Minute}), distlock.Config{})
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

func contextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A server is responsive and then hangs: a single caller without others may exceed its
// context a little, and later callers may not. Of many callers, those that leave do so
// at once, the others do not wait without end, and a request that was not sent is not
// in doubt. The server works again with new connections.
func TestVirtualHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := overNetwork(t, redistest.Virtual(t), func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -1, -1 })
		b := newBackend(t, c, redislock.Config{OpTimeout: time.Second})
		for range 3 {
			mustRelease(t, b, must(b.Enqueue(t.Context(), request(lockKey))))
			synctest.Wait()
		}
		n.Hang(true)
		const slack, patience = 50 * time.Millisecond, 20 * time.Millisecond
		leave := func(r driver.Request, slack time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(patience, cancel)
			start := time.Now()
			_, err := b.Enqueue(ctx, r)
			if d := time.Since(start); !errors.Is(err, context.Canceled) || d > patience+slack {
				t.Errorf("one who left: %v after %v", err, d)
			}
		}
		leave(request(lockKey), slack-patience)
		leave(request(lockKey), 0)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				r := request("k" + strconv.Itoa(i))
				if i >= 50 {
					leave(r, 0)
					return
				}
				start := time.Now()
				_, err := b.TryAcquire(t.Context(), r)
				if d := time.Since(start); d > 2*time.Second || err == nil || contextError(err) {
					t.Errorf("one who waited: %v after %v", err, d)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if b.InDoubt() > 50 {
			t.Errorf("%d are in doubt, although most were never sent", b.InDoubt())
		}
		n.Hang(false)
		n.CloseCut() // those requests had no timeout
		mustRelease(t, b, mustTry(t, b, request(lockKey)))
		synctest.Wait() // the caller has its result before the batch has ended
		if b.InFlight() != 0 || b.Queued() != 0 {
			t.Errorf("%d in flight, %d queued", b.InFlight(), b.Queued())
		}
	})
}

// Row 4 (redislock): the holder learns of it at its next renewal, the next token is
// higher, the waiter is served. Fails if tokens start at 1 without the counter, or if a
// renewal creates a lock that is gone.
func TestRestartedEmpty(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	b := newBackend(t, s.Client, redislock.Config{OpTimeout: 500 * time.Millisecond})
	g := mustTry(t, b, request(lockKey))
	locker := testkit.NewLocker(t, redislock.New(s.Client, redislock.Config{}), distlock.Config{})
	lease := must(locker.Acquire(t.Context(), "another", distlock.Opts{KeyTimeout: 20 * time.Second}))
	r := request(lockKey)
	w := testkit.StartWaiter(t, b, r, testkit.Looks{Every: 20 * time.Millisecond})
	testkit.Eventually(t, "it has queued", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
	s.real.Kill()
	<-w.Done
	matches(t, "the waiter", w.Err)
	refused := `^redislock: .*dial tcp ` + s.real.Addr() + `: connect: connection refused`
	got := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]
	if !await.InDoubt(got) {
		t.Errorf("renewal: %v", got)
	}
	readable(t, "the holder's renewal", got, refused)
	s.real.Restart()

	testkit.Eventually(t, "the waiter is served", func() bool {
		w = testkit.StartWaiter(t, b, r)
		<-w.Done
		return w.Err == nil
	})
	if w.Got.Token <= g.LastToken {
		t.Errorf("token %d after %d", w.Got.Token, g.LastToken)
	}
	testkit.Eventually(t, "the holder learns of it", func() bool {
		return errors.Is(driver.RenewAll(t.Context(), b, []driver.Grant{g})[0], driver.ErrLost)
	})
	mustBeLost(t, b, g)
	mustRelease(t, b, w.Got)
	<-lease.Context().Done()
	matches(t, "the holder", lease.Check(), driver.ErrLost)
	says(t, "the holder", lease.Check(), "the store says") // it has not just expired
	matches(t, "its release", lease.Release(t.Context()), driver.ErrLost)
}
