package redissonlock_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// scriptCall matches a call of any script.
func scriptCall(written []byte) bool { return bytes.Contains(written, []byte("evalsha")) }

// spoiled returns a Backend with connections through a network, in the bubble of the
// test, and a client of the same server.
func spoiled(t *testing.T, cfg ...redissonlock.Config) (*redissonlock.Backend, *spoilnet.Network, *redis.Client) {
	t.Helper()
	m := redistest.Virtual(t)
	n := spoilnet.To(m.Dial)
	c := redistest.VirtualClient(t, m, func(o *redis.Options) {
		o.Dialer, o.MaxRetries, o.ConnMaxIdleTime = n.DialContext, -1, time.Second
	})
	return newBackend(t, c, cfg...), n, redistest.VirtualClient(t, m)
}

// Nothing was sent without a connection.
func TestNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, n, _ := spoiled(t)
		n.Refuse(true)
		if _, err := b.TryAcquire(t.Context(), request(lockKey)); !errors.Is(err, driver.ErrNotSent) {
			t.Errorf("%v, want an error that says that nothing was sent", err)
		}
	})
}

// A set of tombstones that is not one does not hide a loss.
func TestLossBesideForeignTombstones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, n, c := spoiled(t, redissonlock.Config{OpTimeout: time.Second})
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request("other")))
		r := request(lockKey)
		n.At(spoilnet.Deafen, scriptCall)
		if _, err := b.TryAcquire(t.Context(), r); err == nil {
			t.Fatal("the attempt is not in doubt")
		}
		g := testkit.MustTry(t, b, r)
		noError(t, c.Del(t.Context(), lockKey).Err())
		lockInJava(t, c, lockKey, javaThread, time.Minute)
		noError(t, c.Set(t.Context(), goneKey, "x", 0).Err())
		testkit.ReleaseLost(t, b, g)
		if n := c.HLen(t.Context(), lockKey).Val(); n != 1 {
			t.Errorf("the lock in Java has %d fields", n)
		}
	})
}

// An attempt that had no answer arrives after the release of its owner. It takes nothing.
func TestOvertakenAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, n, c := spoiled(t, redissonlock.Config{OpTimeout: time.Second})
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request("other"))) // the scripts are loaded
		r := request(lockKey)
		n.At(spoilnet.Hold, scriptCall)
		if _, err := b.TryAcquire(t.Context(), r); err == nil {
			t.Fatal("the attempt is not in doubt")
		}
		testkit.MustRelease(t, b, r.Grant())
		noError(t, n.Deliver())
		synctest.Wait()
		if c.Exists(t.Context(), lockKey).Val() != 0 {
			t.Error("an attempt that came late has the key")
		}
	})
}

// An answer that cannot be read leaves the outcome open. A release that follows leaves a tombstone,
// and a repeated release is no loss.
func TestOddAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		b := newBackend(t, redistest.VirtualClient(t, m))
		oddly := func(f func() error) {
			t.Helper()
			m.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
				odd := strings.HasPrefix(cmd, "EVAL")
				if odd {
					c.WriteInline("PONG")
				}
				return odd
			})
			defer m.Server().SetPreHook(nil)
			if err := f(); err == nil || errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, driver.ErrLost) {
				t.Errorf("an odd answer: %v", err)
			}
		}
		r := request(lockKey)
		oddly(func() error { _, err := b.TryAcquire(t.Context(), r); return err })
		testkit.MustRelease(t, b, r.Grant())
		if !m.Exists(goneKey) {
			t.Error("an attempt that may still arrive has no tombstone")
		}
		g := testkit.MustTry(t, b, request(lockKey))
		oddly(func() error { return b.Release(t.Context(), g) })
		m.Del(lockKey)
		testkit.MustTry(t, b, request(lockKey))
		testkit.MustRelease(t, b, g)
	})
}
