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

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
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
