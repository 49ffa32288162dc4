package redissonlock_test

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// eachServer runs f on a simulated server, in virtual time, and on a real one.
func eachServer(t *testing.T, f func(t *testing.T, b *redissonlock.Backend, c *redis.Client)) {
	t.Helper()
	testkit.InBubble(t, "miniredis", func(t *testing.T) {
		b, c := virtual(t)
		f(t, b, c)
	})
	t.Run("redis", func(t *testing.T) {
		s := redistest.Start(t)
		f(t, newBackend(t, s.Client(t)), s.Client(t))
	})
}

// The holders that Redisson writes.
const (
	javaClient = "6f1b2c3d-0000-4000-8000-000000000001"
	javaThread = javaClient + ":57"
)

// lockInJava does what S1 does: tryLock of an RLock.
func lockInJava(t testing.TB, c *redis.Client, key, holder string, lease time.Duration) {
	t.Helper()
	noError(t, c.HIncrBy(context.Background(), key, holder, 1).Err())
	noError(t, c.PExpire(context.Background(), key, lease).Err())
}

func TestRecord(t *testing.T) {
	eachServer(t, func(t *testing.T, b *redissonlock.Backend, c *redis.Client) {
		ctx := t.Context()
		r := request(lockKey)
		g := testkit.MustTry(t, b, r)
		want := map[string]string{"mode": "write", r.Owner + ":0": "1"}
		if got := c.HGetAll(ctx, lockKey).Val(); !maps.Equal(got, want) {
			t.Errorf("the record is %q, want %q", got, want)
		}
		if left := c.PTTL(ctx, lockKey).Val(); left <= r.TTL-5*time.Second || left > r.TTL {
			t.Errorf("it expires in %v, with a lease of %v", left, r.TTL)
		}
		if got := c.Get(ctx, counterKey).Val(); got != strconv.FormatUint(g.LastToken, 10) || c.PTTL(ctx, counterKey).Val() > 0 {
			t.Errorf("the counter is %s after token %d, and expires in %v", got, g.LastToken, c.PTTL(ctx, counterKey).Val())
		}
		testkit.MustRelease(t, b, g)
		if keys := c.Keys(ctx, "*").Val(); len(keys) != 1 || keys[0] != counterKey {
			t.Errorf("left behind: %q", keys)
		}

		tagged := testkit.MustTry(t, b, request("{order}:1"))
		if n := c.Exists(ctx, "{order}:1", "redisson_lock_token:{order}:1").Val(); n != 2 {
			t.Errorf("%d keys of a lock with a hash tag: %q", n, c.Keys(ctx, "*").Val())
		}
		testkit.MustRelease(t, b, tagged)
	})
}

// The messages are those of Redisson: 0 wakes one waiter for an RLock, 1 all waiters
// for an RReadWriteLock.
func TestMessages(t *testing.T) {
	eachServer(t, func(t *testing.T, b *redissonlock.Backend, c *redis.Client) {
		messages := listenAs(t, c, channel, rwChannel)
		mustHear := func(when string) {
			t.Helper()
			got := make(map[string]string)
			for range 2 {
				select {
				case m := <-messages:
					got[m.Channel] = m.Payload
				case <-time.After(20 * time.Second): // only a failing test waits that long
				}
			}
			if got[channel] != "0" || got[rwChannel] != "1" {
				t.Errorf("%s: %q", when, got)
			}
		}
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request(lockKey)))
		mustHear("released")
		testkit.MustTry(t, b, request(lockKey))
		if held, err := b.ForceRelease(t.Context(), lockKey); err != nil || !held {
			t.Errorf("ForceRelease: %v, %v", held, err)
		}
		mustHear("released by force")
	})
}

// RFencedLock adds one to the counter. All acquisitions here are above it, and it is
// above all of them.
func TestTokensAreSharedWithRFencedLock(t *testing.T) {
	eachServer(t, func(t *testing.T, b *redissonlock.Backend, c *redis.Client) {
		last := uint64(0)
		for range 3 {
			inJava := uint64(c.Incr(t.Context(), counterKey).Val())
			if inJava <= last {
				t.Errorf("token %d in Java after %d", inJava, last)
			}
			r := request(lockKey)
			r.Tokens = 5
			g := testkit.MustTry(t, b, r)
			if g.Token <= inJava || g.LastToken != g.Token+4 {
				t.Errorf("tokens %d to %d after %d in Java", g.Token, g.LastToken, inJava)
			}
			last = g.LastToken
			testkit.MustRelease(t, b, g)
		}
		// The clock is far behind the counter.
		const ahead uint64 = 9e15
		noError(t, c.Set(t.Context(), counterKey, ahead, 0).Err())
		g := testkit.MustTry(t, b, request(lockKey))
		if g.Token != ahead+1 {
			t.Errorf("token %d after %d", g.Token, ahead)
		}
		testkit.MustRelease(t, b, g)

		for _, bad := range []string{"9007199254740991", "x", "-1", "1.5"} {
			noError(t, c.Set(t.Context(), counterKey, bad, 0).Err())
			_, err := b.TryAcquire(t.Context(), request(lockKey))
			if err == nil || !strings.Contains(err.Error(), "BADTOKEN") {
				t.Errorf("with the counter %q: %v", bad, err)
			}
		}
		if n := c.Exists(t.Context(), lockKey).Val(); n != 0 {
			t.Error("a lock without a token is held")
		}
	})
}

// Locks of Java are seen as held, by name and for as long as they last, and are listed.
func TestHeldInJava(t *testing.T) {
	for name, c := range map[string]struct {
		fields  map[string]any
		name    string // "" if there are several
		mode    driver.Mode
		holders int
	}{
		"RLock":           {map[string]any{javaThread: 1}, "redisson-6f1b2c3d/thread-57", driver.Exclusive, 1},
		"RLock, re-entry": {map[string]any{javaThread: 2}, "redisson-6f1b2c3d/thread-57/holds-2", driver.Exclusive, 1},
		"writer":          {map[string]any{"mode": "write", javaThread + ":write": 1}, "redisson-6f1b2c3d/thread-57", driver.Exclusive, 1},
		"reader":          {map[string]any{"mode": "read", javaThread: 1}, "redisson-6f1b2c3d/thread-57", driver.Shared, 1},
		"readers":         {map[string]any{"mode": "read", javaThread: 1, javaClient + ":-3": 1}, "", driver.Shared, 2},
	} {
		t.Run(name, func(t *testing.T) {
			eachServer(t, func(t *testing.T, b *redissonlock.Backend, client *redis.Client) {
				noError(t, client.HSet(t.Context(), lockKey, c.fields).Err())
				noError(t, client.PExpire(t.Context(), lockKey, 20*time.Second).Err())
				held := mustBeHeld(t, b, lockKey)
				if held.Holder != c.name || held.RetryAfter < 10*time.Second || held.RetryAfter > 20*time.Second+time.Millisecond || held.Held != 0 {
					t.Errorf("refused with %+v", held)
				}
				infos, err := b.Inspect(t.Context(), "shop:", 10)
				if err != nil || len(infos) != 1 || infos[0].Held != c.holders || len(infos[0].Holders) != c.holders || infos[0].Mode != c.mode {
					t.Fatalf("Inspect: %+v, %v", infos, err)
				}
				h := infos[0].Holders[0]
				if c.name != "" && h.Holder != c.name || h.Token != 0 || h.ExpiresIn < 10*time.Second || h.Owner == "" || strings.Contains(h.Owner, javaClient) {
					t.Errorf("listed with %+v", h)
				}
				stranger := request(lockKey).Grant()
				stranger.Token = 1
				testkit.ReleaseLost(t, b, stranger)
				testkit.MustBeLost(t, b, stranger)
				if held, err := b.ForceRelease(t.Context(), lockKey); err != nil || !held {
					t.Errorf("ForceRelease: %v, %v", held, err)
				}
				testkit.MustRelease(t, b, testkit.MustTry(t, b, request(lockKey)))
			})
		})
	}
}

// A holder of this package is named with the time for which it has the lock.
func TestHeldHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := virtual(t)
		r := request(lockKey)
		r.Owner += "@till-3"
		g := testkit.MustTry(t, b, r)
		time.Sleep(2 * time.Second)
		if held := mustBeHeld(t, b, lockKey); held.Holder != "till-3" || held.Held != 2*time.Second || held.RetryAfter != 8*time.Second+time.Millisecond {
			t.Errorf("refused with %+v", held)
		}
		testkit.MustRelease(t, b, g)
	})
}

// A key that another holds is held, whatever has become of its counter.
func TestHeldWithABadCounter(t *testing.T) {
	eachServer(t, func(t *testing.T, b *redissonlock.Backend, c *redis.Client) {
		g := testkit.MustTry(t, b, request(lockKey))
		noError(t, c.Del(t.Context(), counterKey).Err())
		noError(t, c.RPush(t.Context(), counterKey, "x").Err())
		if held := mustBeHeld(t, b, lockKey); held.Held != 0 || held.RetryAfter <= 0 {
			t.Errorf("refused with %+v", held)
		}
		testkit.MustRelease(t, b, g)
		for _, key := range []string{counterKey, "distlock_gone:{" + lockKey + "}"} {
			noError(t, c.RPush(t.Context(), key, "x").Err())
			if _, err := b.TryAcquire(t.Context(), request(lockKey)); err == nil || !strings.Contains(err.Error(), "the key "+key+" is a list of another program") {
				t.Errorf("with a list at %s: %v", key, err)
			}
		}
	})
}

// What is not a lock stays as it is, and is not an outage.
func TestForeignValues(t *testing.T) {
	for name, set := range map[string]func(ctx context.Context, c *redis.Client) error{
		"string": func(ctx context.Context, c *redis.Client) error {
			return c.Set(ctx, lockKey, "x", time.Minute).Err()
		},
		"zset": func(ctx context.Context, c *redis.Client) error {
			return c.ZAdd(ctx, lockKey, redis.Z{Member: "x"}).Err()
		},
		"hash": func(ctx context.Context, c *redis.Client) error { return c.HSet(ctx, lockKey, "name", "x").Err() },
	} {
		t.Run(name, func(t *testing.T) {
			eachServer(t, func(t *testing.T, b *redissonlock.Backend, c *redis.Client) {
				noError(t, set(t.Context(), c))
				before := c.Dump(t.Context(), lockKey).Val()
				_, err := b.TryAcquire(t.Context(), request(lockKey))
				if !errors.Is(err, driver.ErrForeign) || !strings.Contains(err.Error(), name) {
					t.Errorf("TryAcquire: %v", err)
				}
				if _, err := b.ForceRelease(t.Context(), lockKey); !errors.Is(err, driver.ErrForeign) || !strings.Contains(err.Error(), name) {
					t.Errorf("ForceRelease: %v", err)
				}
				g := request(lockKey).Grant()
				g.Token = 1
				testkit.ReleaseLost(t, b, g)
				testkit.MustBeLost(t, b, g)
				infos, err := b.Inspect(t.Context(), lockKey, 10)
				if err != nil || len(infos) != 1 || infos[0].Foreign != name {
					t.Errorf("Inspect of the key: %+v, %v", infos, err)
				}
				if infos, err := b.Inspect(t.Context(), "shop", 10); err != nil || len(infos) != 0 {
					t.Errorf("Inspect of a prefix: %+v, %v", infos, err)
				}
				noError(t, c.PExpire(t.Context(), lockKey, time.Minute).Err()) // as a lock does
				if _, err := b.ForceRelease(t.Context(), lockKey); !errors.Is(err, driver.ErrForeign) {
					t.Errorf("ForceRelease of what expires: %v", err)
				}
				if c.Dump(t.Context(), lockKey).Val() != before {
					t.Error("the value was changed")
				}
				noError(t, c.Del(t.Context(), lockKey).Err())
				testkit.MustRelease(t, b, testkit.MustTry(t, b, request(lockKey)))
			})
		})
	}
}

// An owner whose lock was taken by force does not take it again with an attempt that
// was on its way.
func TestForcedOwnerIsRefused(t *testing.T) {
	eachServer(t, func(t *testing.T, b *redissonlock.Backend, _ *redis.Client) {
		r := request(lockKey)
		testkit.MustTry(t, b, r)
		if held, err := b.ForceRelease(t.Context(), lockKey); err != nil || !held {
			t.Fatalf("ForceRelease: %v, %v", held, err)
		}
		if _, err := b.TryAcquire(t.Context(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
			t.Errorf("TryAcquire: %v", err)
		}
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request(lockKey)))
	})
}

func TestBadRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := virtual(t)
		for name, r := range map[string]driver.Request{
			"a reader":            {Key: "k", Owner: "o", TTL: time.Second, Mode: driver.Shared},
			"a permit":            {Key: "k", Owner: "o", TTL: time.Second, Permits: 2},
			"no TTL":              {Key: "k", Owner: "o"},
			"no key":              {Owner: "o", TTL: time.Second},
			"no owner":            {Key: "k", TTL: time.Second},
			"an open brace":       {Key: "{k", Owner: "o", TTL: time.Second},
			"a counter":           {Key: "redisson_lock_token:{k}", Owner: "o", TTL: time.Second},
			"a set of tombstones": {Key: "distlock_gone:{k}", Owner: "o", TTL: time.Second},
		} {
			_, err := b.TryAcquire(t.Context(), r)
			if err == nil || errors.Is(err, driver.ErrNotAcquired) || !strings.HasPrefix(err.Error(), "redissonlock: ") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if keys := c.Keys(t.Context(), "*").Val(); len(keys) != 0 {
			t.Errorf("written: %q", keys)
		}
		g := request("k").Grant()
		g.TTL = 0
		if r := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]; !await.InDoubt(r) {
			t.Errorf("Renew without a TTL: %+v", r)
		}
	})
}
