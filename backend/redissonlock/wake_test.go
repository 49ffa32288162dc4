package redissonlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A waiter has the key as soon as Java publishes, or as soon as the lease of a dead
// holder in Java ends.
func TestWokenByJava(t *testing.T) {
	for name, c := range map[string]struct {
		publish string
		want    time.Duration
	}{
		"RLock": {channel, 3 * time.Second}, "RReadWriteLock": {rwChannel, 3 * time.Second}, "dead": {"", 20 * time.Second},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			b, client := virtual(t)
			lockInJava(t, client, lockKey, javaThread, 20*time.Second)
			l := distlock.New(b, distlock.Config{})
			defer l.Close()
			start := time.Now()
			if c.publish != "" {
				time.AfterFunc(3*time.Second, func() {
					client.Del(context.Background(), lockKey)
					client.Publish(context.Background(), c.publish, "0")
				})
			}
			lease, err := l.Acquire(t.Context(), lockKey, distlock.Opts{RetryInterval: time.Hour})
			noError(t, err)
			if d := time.Since(start); d < c.want || d > c.want+10*time.Millisecond {
				t.Errorf("acquired after %v, want %v", d, c.want)
			}
			noError(t, lease.Release(t.Context()))
		})
	}
}

// listenAs subscribes to channels and returns what comes.
func listenAs(t *testing.T, c *redis.Client, channels ...string) <-chan *redis.Message {
	t.Helper()
	sub := c.Subscribe(t.Context(), channels...)
	t.Cleanup(func() { _ = sub.Close() })
	for range channels {
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return sub.Channel()
}

// A process that releases a key leaves it to others for a moment if they have heard of
// it. TryAcquire waits only then.
func TestOthersGetTheirTurn(t *testing.T) {
	const turn = 3 * time.Millisecond
	for name, c := range map[string]struct {
		listen []string
		own    bool // this process listens, too
		pause  time.Duration
	}{
		"alone":                {nil, false, 0},
		"only this one":        {nil, true, 0},
		"RLock":                {[]string{channel}, false, turn},
		"RLock and this one":   {[]string{channel}, true, turn},
		"RReadWriteLock":       {[]string{rwChannel}, false, turn},
		"another of this kind": {[]string{channel, rwChannel}, false, turn},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			b, client := virtual(t)
			if c.listen != nil {
				listenAs(t, client, c.listen...)
			}
			if c.own {
				<-b.Turn(t.Context(), driver.Request{Key: lockKey})
			}
			for when, pause := range []time.Duration{0, c.pause, 0} { // at first, at once, and later
				start := time.Now()
				g := testkit.MustTry(t, b, request(lockKey))
				if d := time.Since(start); d != pause {
					t.Errorf("attempt %d took %v, want %v", when, d, pause)
				}
				testkit.MustRelease(t, b, g)
				if when == 1 {
					time.Sleep(2 * turn)
				}
			}
		})
	}
}
