package redissonlock_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// scriptCall matches a call of any script.
func scriptCall(written []byte) bool { return bytes.Contains(written, []byte("evalsha")) }

// spoiled returns a Backend with connections through a network, in the bubble of the test, and
// a client of the same server.
func spoiled(t *testing.T, cfg ...redissonlock.Config) (*redissonlock.Backend, *spoilnet.Network, *redis.Client) {
	t.Helper()
	m := redistest.Virtual(t)
	n := spoilnet.To(m.Dial)
	c := redistest.VirtualClient(t, m, func(o *redis.Options) {
		o.Dialer, o.MaxRetries, o.ConnMaxIdleTime = n.DialContext, -1, time.Second
	})
	return newBackend(t, c, cfg...), n, redistest.VirtualClient(t, m)
}

// The reply to an attempt is lost: the same owner tries again and has the key, or releases it.
// The reply to a release is lost: the next release does not report a loss.
func TestLostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, n, c := spoiled(t, redissonlock.Config{OpTimeout: time.Second})
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request("other"))) // the scripts are loaded
		r := request(lockKey)
		lose := func(what string, op func() error) {
			t.Helper()
			n.DeafenAt(scriptCall)
			if err := op(); err == nil || errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, driver.ErrLost) {
				t.Errorf("%s without a reply: %v", what, err)
			}
		}
		lose("TryAcquire", func() error { _, err := b.TryAcquire(t.Context(), r); return err })
		if c.Exists(t.Context(), lockKey).Val() != 1 {
			t.Fatal("it did not arrive")
		}
		g := testkit.MustTry(t, b, r)
		lose("Renew", func() error { return driver.RenewAll(t.Context(), b, []driver.Grant{g})[0].Err })
		testkit.MustRelease(t, b, g)
		g = testkit.MustTry(t, b, request(lockKey)) // without an attempt in doubt
		lose("Release", func() error { return b.Release(t.Context(), g) })
		if c.Exists(t.Context(), lockKey).Val() != 0 {
			t.Fatal("it did not arrive")
		}
		next := testkit.MustTry(t, b, request(lockKey))
		testkit.MustRelease(t, b, g)
		testkit.MustRelease(t, b, next)
	})
}

// A set of tombstones that is not one does not hide a loss.
func TestLossBesideForeignTombstones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, n, c := spoiled(t, redissonlock.Config{OpTimeout: time.Second})
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request("other")))
		r := request(lockKey)
		n.DeafenAt(scriptCall)
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

// An abandoned attempt arrives after the release of its owner. It must not take the key.
func TestOvertakenAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, n, c := spoiled(t)
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request("other")))
		r := request(lockKey)
		n.HoldAt(scriptCall)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := b.TryAcquire(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("TryAcquire: %v", err)
		}
		testkit.MustRelease(t, b, r.Grant())
		noError(t, n.Deliver())
		synctest.Wait()
		if c.Exists(t.Context(), lockKey).Val() != 0 {
			t.Error("an attempt that came late has the key")
		}
		if c.ZCard(t.Context(), goneKey).Val() != 1 {
			t.Error("the owner has no tombstone")
		}
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request(lockKey)))
		time.Sleep(15 * time.Minute)
		if keys := c.Keys(t.Context(), "*gone*").Val(); len(keys) != 0 {
			t.Errorf("left behind: %q", keys)
		}
	})
}
