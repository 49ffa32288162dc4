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
			if d := time.Since(start); err == nil || d > patience+slack {
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
