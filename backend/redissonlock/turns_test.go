package redissonlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

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

// A process that releases a key leaves it to others for a moment if they have heard of it, and
// passes it on less often while Redisson is among them. TryAcquire waits only then.
func TestOthersGetTheirTurn(t *testing.T) {
	for name, c := range map[string]struct {
		listen []string
		own    bool // this process listens, too
		pause  time.Duration
		tokens uint64
	}{
		"alone":                {nil, false, 0, 64},
		"only this one":        {nil, true, 0, 64},
		"RLock":                {[]string{channel}, false, 3 * time.Millisecond, 2},
		"RLock and this one":   {[]string{channel}, true, 3 * time.Millisecond, 2},
		"RReadWriteLock":       {[]string{rwChannel}, false, 3 * time.Millisecond, 2},
		"another of this kind": {[]string{channel, rwChannel}, false, 3 * time.Millisecond, 64},
		"it and this one":      {[]string{channel, rwChannel}, true, 3 * time.Millisecond, 64},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, client := virtual(t)
				if c.listen != nil {
					listenAs(t, client, c.listen...)
				}
				if c.own {
					<-b.Wake(t.Context(), lockKey)
				}
				r := request(lockKey)
				r.Tokens = 64
				g := mustTry(t, b, r)
				if g.LastToken-g.Token+1 != 64 {
					t.Errorf("tokens %d to %d before others were heard of", g.Token, g.LastToken)
				}
				mustRelease(t, b, g)
				r = request(lockKey)
				r.Tokens = 64
				start := time.Now()
				g = mustTry(t, b, r)
				if d := time.Since(start); d != c.pause || g.LastToken-g.Token+1 != c.tokens {
					t.Errorf("%d tokens after %v, want %d after %v", g.LastToken-g.Token+1, d, c.tokens, c.pause)
				}
				mustRelease(t, b, g)
				time.Sleep(2 * time.Second) // nothing was heard for a while
				r = request(lockKey)
				r.Tokens = 64
				start = time.Now()
				if g = mustTry(t, b, r); time.Since(start) != 0 || g.LastToken-g.Token+1 != 64 {
					t.Errorf("later: tokens %d to %d after %v", g.Token, g.LastToken, time.Since(start))
				}
			})
		})
	}
}
