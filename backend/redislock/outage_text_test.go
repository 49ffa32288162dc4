package redislock_test

import (
	"context"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// readable checks an error for operators: it is one line, matches the pattern, which
// includes the address, and contains no password.
func readable(t *testing.T, what string, err error, pattern string) {
	t.Helper()
	if err == nil || !regexp.MustCompile(pattern).MatchString(err.Error()) {
		t.Errorf("%s: %v\ndoes not match %s", what, err, pattern)
	}
	if err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "xyzzy")) {
		t.Errorf("%s: %q is not fit to be read", what, err)
	}
}

// tellsWhy uses a client that fails every operation. Every error has the reason, from
// the first operation to the operations after the client has stopped trying.
func tellsWhy(t *testing.T, c redis.UniversalClient, pattern string) {
	t.Helper()
	b := redislock.New(c, redislock.WithOpTimeout(500*time.Millisecond))
	l := distlock.New(b, distlock.Config{CloseTimeout: time.Millisecond})
	defer l.Close()
	for range 2 {
		_, err := l.TryAcquire(t.Context(), lockKey, distlock.Opts{})
		matches(t, "TryAcquire", err, distlock.ErrUnavailable)
		readable(t, "TryAcquire", err, `^distlock: acquire "shop:pay": lock backend unavailable: redislock: `+pattern)
	}
	r := request(lockKey)
	_, err := b.Acquire(t.Context(), r)
	readable(t, "Acquire", err, "^redislock: "+pattern)
	g := r.Grant()
	readable(t, "Renew", driver.RenewAll(t.Context(), b, []driver.Grant{g})[0].Err, "^redislock: "+pattern)
	readable(t, "Release", b.Release(t.Context(), g), "^redislock: "+pattern)
	_, err = b.Inspect(t.Context(), lockKey, 1)
	readable(t, "Inspect", err, "^redislock: "+pattern)
	_, err = b.ForceRelease(t.Context(), lockKey)
	readable(t, "ForceRelease", err, "^redislock: "+pattern)
}

func TestOutageText(t *testing.T) {
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		addr := child.ClosedAddr(t)
		refused := `(no answer within the operation timeout of 500ms: )?dial tcp ` + addr + `: connect: connection refused`
		t.Run("one server", func(t *testing.T) {
			t.Parallel()
			c := redis.NewClient(&redis.Options{Addr: addr, Password: "pw-xyzzy"})
			defer c.Close()
			tellsWhy(t, c, refused)
		})
		t.Run("Cluster", func(t *testing.T) {
			t.Parallel()
			testmode.Long(t)
			c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, Password: "pw-xyzzy"})
			defer c.Close()
			tellsWhy(t, c, refused)
		})
		t.Run("Sentinel", func(t *testing.T) {
			t.Parallel()
			testmode.Long(t)
			c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: []string{addr}, Password: "pw-xyzzy"})
			defer c.Close()
			// Its client tries for longer than an operation may take.
			tellsWhy(t, c, `the master that Sentinel names: no answer within the operation timeout of 500ms: (no connection for [\d.]+m?s|redis: all sentinels .*)$`)
		})
	})
	t.Run("wrong host", func(t *testing.T) {
		t.Parallel()
		c := redis.NewClient(&redis.Options{Addr: "redis.internal:6379", Dialer: func(_ context.Context, network, _ string) (net.Conn, error) {
			// The error of package net, without asking the resolver of this machine.
			return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: "redis.internal", IsNotFound: true}}
		}})
		defer c.Close()
		tellsWhy(t, c, `redis\.internal:6379: (no answer within the operation timeout of 500ms: )?dial tcp: lookup redis\.internal: no such host$`)
	})
	t.Run("no way", func(t *testing.T) {
		t.Parallel()
		testmode.Long(t)
		over := make(chan struct{})
		defer close(over)
		c := redis.NewClient(&redis.Options{Addr: "192.0.2.1:6379", DialerRetries: 1, Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			select { // as if packets were dropped
			case <-ctx.Done():
			case <-over:
			}
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
		}})
		defer c.Close()
		tellsWhy(t, c, `192\.0\.2\.1:6379: no answer within the operation timeout of 500ms: (no connection for [\d.]+m?s|dial tcp: i/o timeout)$`)
	})
	t.Run("password", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--requirepass", "secret-xyzzy")
		addr := regexp.QuoteMeta(s.Addr())
		tellsWhy(t, s.Client(t), addr+`: .*NOAUTH`)
		tellsWhy(t, s.Client(t, func(o *redis.Options) { o.Password = "wrong-xyzzy" }), addr+`: .*WRONGPASS`)
	})
	t.Run("hangs", func(t *testing.T) {
		t.Parallel()
		testmode.Long(t)
		s := redistest.Start(t)
		s.Stop()
		defer s.Cont()
		tellsWhy(t, s.Client(t), regexp.QuoteMeta(s.Addr())+`: no answer within the operation timeout of 500ms: it takes connections, but answers nothing`)
	})
	t.Run("the application has all connections", func(t *testing.T) {
		t.Parallel()
		testmode.Long(t)
		s := redistest.Start(t)
		c := s.Client(t, func(o *redis.Options) { o.PoolSize = 2 })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 {
			conn := c.Conn()
			t.Cleanup(func() { _ = conn.Close() })
			if err := conn.Ping(ctx).Err(); err != nil {
				t.Fatal(err)
			}
		}
		b := redislock.New(c, redislock.WithOpTimeout(500*time.Millisecond))
		defer b.Close()
		_, err := b.TryAcquire(t.Context(), request(lockKey))
		readable(t, "TryAcquire", err, `^redislock: `+regexp.QuoteMeta(s.Addr())+`: no answer within the operation timeout of 500ms: the server answers others, but all 2 connections of the client are in use`)
		if err := b.Release(t.Context(), request(lockKey).Grant()); err != nil { // it has connections of its own
			t.Errorf("Release: %v", err)
		}
	})
}

// The server is killed while the lock has a holder and a waiter.
func TestOutageTextKilled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := s.Client(t)
	b := redislock.New(c, redislock.WithOpTimeout(500*time.Millisecond))
	defer b.Close()
	g := must(b.TryAcquire(t.Context(), request(lockKey)))
	r := request(lockKey)
	r.Backoff = driver.NewBackoff(100*time.Millisecond, 0)
	w := acquire(t.Context(), b, r)
	testkit.Eventually(t, "it waits", func() bool { return c.ZCard(t.Context(), queueKey).Val() == 1 })
	s.Kill()

	refused := `^redislock: (no answer within the operation timeout of 500ms: )?dial tcp ` + s.Addr() + `: connect: connection refused`
	for range 3 {
		got := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]
		if got.Status != driver.Unknown {
			t.Errorf("renewal: %v", got.Status)
		}
		readable(t, "the holder's renewal", got.Err, refused)
	}
	<-w.done
	matches(t, "the waiter", w.err)
	readable(t, "the waiter", w.err, refused)
	readable(t, "the holder's release", b.Release(t.Context(), g), refused)
}
