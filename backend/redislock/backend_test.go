package redislock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
)

func TestNewPanics(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	for name, c := range map[string]struct {
		make func()
		want string
	}{
		"nil client":   {func() { redislock.New(nil) }, "redislock: nil client"},
		"typed nil":    {func() { redislock.New((*redis.Client)(nil)) }, "redislock: nil client"},
		"nil option":   {func() { redislock.New(client, nil) }, "redislock: nil Option"},
		"inbox prefix": {func() { redislock.WithInboxPrefix("") }, `redislock: WithInboxPrefix: "" is empty`},
		"claim window": {func() { redislock.WithClaimWindow(time.Microsecond) }, "redislock: WithClaimWindow: 1µs is less than a millisecond"},
		"op timeout":   {func() { redislock.WithOpTimeout(-time.Second) }, "redislock: WithOpTimeout: -1s is less than a millisecond"},
		"logger":       {func() { redislock.WithLogger(nil) }, "redislock: WithLogger: nil logger"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("got %v instead of %q", got, c.want)
				}
			}()
			c.make()
		})
	}
}

func TestTryAcquireRelease(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		r := request("k")
		before := time.Now()
		g, err := b.TryAcquire(t.Context(), r)
		switch {
		case err != nil:
			t.Fatal(err)
		case g.Key != r.Key || g.Owner != r.Owner || g.TTL != r.TTL:
			t.Errorf("%+v was granted for %+v", g, r)
		case g.Token == 0 || g.LastToken < g.Token:
			t.Errorf("tokens %d..%d", g.Token, g.LastToken)
		case g.Sent.Before(before) || g.Sent.After(time.Now()):
			t.Errorf("sent at %v, called at %v", g.Sent, before)
		}

		_, err = b.TryAcquire(t.Context(), request("k"))
		var held *driver.HeldError
		if !errors.As(err, &held) || held.RetryAfter > r.TTL || held.RetryAfter < r.TTL-5*time.Second {
			t.Errorf("held: %v", err)
		}
		other := request("k").Grant()
		if err := b.Release(t.Context(), other); !errors.Is(err, driver.ErrLost) {
			t.Errorf("release by another: %v", err)
		}
		if err := b.Release(t.Context(), g); err != nil {
			t.Errorf("release: %v", err)
		}
		if g2, err := b.TryAcquire(t.Context(), request("k")); err != nil || g2.Token <= g.LastToken {
			t.Errorf("after the release: %+v, %v", g2, err)
		}
	})
}

func TestBadRequests(t *testing.T) {
	b := newBackend(t, redistestClosedClient(t))
	good := request("k")
	for name, change := range map[string]func(*driver.Request){
		"no key":         func(r *driver.Request) { r.Key = "" },
		"the clock":      func(r *driver.Request) { r.Key = redislock.ClockKey },
		"no owner":       func(r *driver.Request) { r.Owner = "" },
		"reserved owner": func(r *driver.Request) { r.Owner = "-" },
		"space":          func(r *driver.Request) { r.Owner = "secret owner" },
		"newline":        func(r *driver.Request) { r.Owner = "secret\n" },
		"not ASCII":      func(r *driver.Request) { r.Owner = "secretä" },
		"short TTL":      func(r *driver.Request) { r.TTL = time.Millisecond - 1 },
	} {
		t.Run(name, func(t *testing.T) {
			r := good
			change(&r)
			for _, acquire := range []func(context.Context, driver.Request) (driver.Grant, error){b.Acquire, b.TryAcquire} {
				if _, err := acquire(t.Context(), r); err == nil || errors.Is(err, redis.ErrClosed) || errors.Is(err, driver.ErrNotAcquired) {
					t.Errorf("acquire: %v", err)
				}
			}
			if r.TTL == good.TTL {
				if err := b.Release(t.Context(), r.Grant()); err == nil || errors.Is(err, redis.ErrClosed) || errors.Is(err, driver.ErrLost) {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	if n := b.InDoubt(); n != 0 {
		t.Errorf("%d doubts about what was never sent", n)
	}
}

// redistestClosedClient returns a client that cannot send anything.
func redistestClosedClient(t *testing.T) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0"})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Errors of the store contain the address and wrap the cause unchanged: the Locker
// decides what they mean. Errors of contexts are returned unchanged.
func TestErrorsAsTheyAre(t *testing.T) {
	b := newBackend(t, redistestClosedClient(t))
	r := request("k")
	closed := func(err error) bool {
		return errors.Is(err, redis.ErrClosed) && err.Error() == "redislock: 127.0.0.1:0: redis: client is closed"
	}
	if _, err := b.TryAcquire(t.Context(), r); !closed(err) {
		t.Errorf("acquire: %v", err)
	}
	if err := b.Release(t.Context(), r.Grant()); !closed(err) {
		t.Errorf("release: %v", err)
	}
	if got := driver.RenewAll(t.Context(), b, []driver.Grant{r.Grant()}); got[0].Status != driver.Unknown || !closed(got[0].Err) {
		t.Errorf("renew: %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Acquire(ctx, r); err != context.Canceled { //nolint:errorlint // the same value
		t.Errorf("acquire: %v", err)
	}
	if err := b.Release(ctx, r.Grant()); err != context.Canceled { //nolint:errorlint // the same value
		t.Errorf("release: %v", err)
	}
}

func TestCloseUnused(t *testing.T) {
	c := redistestClosedClient(t)
	if err := redislock.New(c).Close(); err != nil {
		t.Error(err)
	}
}

// unhurried is a timeout that is longer than the pauses of a slow machine, for tests
// that do not test timeouts.
var unhurried = redislock.WithOpTimeout(10 * time.Second)

// newBackend returns a Backend with the timeout unhurried, unless opts change it.
func newBackend(t testing.TB, c redis.UniversalClient, opts ...redislock.Option) *redislock.Backend {
	t.Helper()
	b := redislock.New(c, append([]redislock.Option{unhurried}, opts...)...)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if n := b.Waiters(); n != 0 {
			t.Errorf("%d waiters left", n)
		}
	})
	return b
}

func request(key string) driver.Request {
	return driver.Request{
		Key: key, Owner: uuid.NewString(), TTL: 10 * time.Second, Tokens: 1,
		Backoff: driver.NewBackoff(5*time.Second, 0),
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
