package redislock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// With WithFreeRelease a release, or a forced one, leaves the key free although another owner
// waits: a client of another library that comes before the message takes the key. The waiter
// keeps its place, and gets the key later. Without another library it gets the key as soon as
// it is told. Without the option the server passes the key on.
func TestVirtualFreeRelease(t *testing.T) {
	const late = 50 * time.Millisecond // how long a message takes
	for name, c := range map[string]struct{ free, forced, another bool }{
		"passed on":            {false, false, true},
		"passed on by force":   {false, true, true},
		"left free":            {true, false, true},
		"left free by force":   {true, true, true},
		"left free for itself": {true, false, false},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			m := redistest.Virtual(t)
			other := redistest.VirtualClient(t, m)
			network := &lateMessages{delay: late}
			var opts []redislock.Option
			if c.free {
				opts = append(opts, redislock.WithFreeRelease())
			}
			holder, waiter := newBackend(t, other, opts...), newBackend(t, network.client(t, m), opts...)
			g := mustTry(t, holder, request(lockKey))
			r := request(lockKey)
			r.Backoff = driver.NewBackoff(time.Second, 0)
			most := 2 * time.Second
			if !c.another {
				r.Backoff, most = driver.NewBackoff(time.Hour, 0), 2*late
			}
			waiting := testkit.StartWaiter(t, waiter, r)
			synctest.Wait()

			if c.forced {
				if held, err := holder.ForceRelease(t.Context(), lockKey); !held || err != nil {
					t.Errorf("ForceRelease: %v, %v", held, err)
				}
			} else {
				mustRelease(t, holder, g)
			}
			if c.another {
				taken := must(other.SetNX(t.Context(), lockKey, "another library's", time.Minute).Result())
				if taken != c.free {
					t.Errorf("another library takes the key: %v", taken)
				}
				time.Sleep(2 * late)
				if taken {
					noError(t, other.Del(t.Context(), lockKey).Err())
				}
			}
			start := time.Now()
			<-waiting.Done
			if d := time.Since(start); waiting.Err != nil || d > most {
				t.Errorf("the waiter gets the key after %v: %v", d, waiting.Err)
			}
		})
	}
}
