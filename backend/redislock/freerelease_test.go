package redislock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// With WithFreeRelease a release, or a forced one, leaves the key free although another owner
// waits: a client of another library that comes before the message takes the key. The waiter
// keeps its place, and gets the key later. Without the option the server passes the key on.
func TestVirtualFreeRelease(t *testing.T) {
	const late = 50 * time.Millisecond // how long a message takes
	end := map[string]func(t *testing.T, b *redislock.Backend, g driver.Grant) error{
		"release": func(t *testing.T, b *redislock.Backend, g driver.Grant) error { return b.Release(t.Context(), g) },
		"forced release": func(t *testing.T, b *redislock.Backend, g driver.Grant) error {
			held, err := b.ForceRelease(t.Context(), g.Key)
			if err == nil && !held {
				err = errors.New("the key was not held")
			}
			return err
		},
	}
	for how, end := range end {
		for name, opts := range map[string][]redislock.Option{"passed on": nil, "left free": {redislock.WithFreeRelease()}} {
			t.Run(how+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := redistest.Virtual(t)
					other := redistest.VirtualClient(t, m)
					network := &lateMessages{delay: late}
					holder, waiter := newBackend(t, other, opts...), newBackend(t, network.client(t, m), opts...)
					g, err := holder.TryAcquire(t.Context(), request(lockKey))
					noError(t, err)
					r := request(lockKey)
					r.Backoff = driver.NewBackoff(time.Second, 0)
					waiting := acquire(t.Context(), waiter, r)
					synctest.Wait()

					noError(t, end(t, holder, g))
					taken, err := other.SetNX(t.Context(), lockKey, "another library's", time.Minute).Result()
					noError(t, err)
					if taken != (opts != nil) {
						t.Errorf("another library takes the key: %v", taken)
					}
					time.Sleep(2 * late)
					if taken {
						noError(t, other.Del(t.Context(), lockKey).Err())
					}
					start := time.Now()
					<-waiting.done
					if d := time.Since(start); waiting.err != nil || d > 2*time.Second {
						t.Errorf("the waiter gets the key after %v: %v", d, waiting.err)
					}
				})
			})
		}
	}
}

// Without another library, the waiter gets a key that is left free as soon as it is told.
func TestVirtualFreeReleaseWakesTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		b := newBackend(t, redistest.VirtualClient(t, m), redislock.WithFreeRelease())
		g, err := b.TryAcquire(t.Context(), request(lockKey))
		noError(t, err)
		var line []*waiting
		for range 3 {
			r := request(lockKey)
			r.Backoff = driver.NewBackoff(time.Hour, 0)
			line = append(line, acquire(t.Context(), newBackend(t, redistest.VirtualClient(t, m), redislock.WithFreeRelease()), r))
			synctest.Wait()
		}
		for _, next := range line {
			start := time.Now()
			noError(t, b.Release(t.Context(), g))
			<-next.done
			if d := time.Since(start); next.err != nil || d > time.Second {
				t.Fatalf("the next waiter gets the key after %v: %v", d, next.err)
			}
			g = next.grant
		}
	})
}
