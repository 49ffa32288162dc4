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
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestNewPanics(t *testing.T) {
	client := redistestClosedClient(t)
	wait := func(c redis.UniversalClient, d time.Duration) func() {
		return func() { redislock.New(c, redislock.WithWaitReplicas(1, d)) }
	}
	for want, f := range map[string]func(){
		"redislock: nil client":                                                           func() { redislock.New(nil) },
		"redislock: nil Option":                                                           func() { redislock.New(client, nil) },
		`redislock: WithInboxPrefix: "" is empty`:                                         func() { redislock.WithInboxPrefix("") },
		"redislock: WithClaimWindow: 1µs is less than a millisecond":                      func() { redislock.WithClaimWindow(time.Microsecond) },
		"redislock: WithOpTimeout: -1s is less than a millisecond":                        func() { redislock.WithOpTimeout(-time.Second) },
		"redislock: WithLogger: nil logger":                                               func() { redislock.WithLogger(nil) },
		"redislock: WithWaitReplicas: 0 replicas":                                         func() { redislock.WithWaitReplicas(0, time.Second) },
		"redislock: WithWaitReplicas: 0s is less than a millisecond":                      wait(client, 0),
		"redislock: WithWaitReplicas: 1s is not shorter than the operation timeout of 1s": wait(client, redislock.DefaultOpTimeout),
		"redislock: WithWaitReplicas: a redislock_test.wrapped may have many connections": wait(wrapped{client}, time.Millisecond),
	} {
		testkit.WantPanic(t, want, f)
	}
	testkit.WantPanic(t, "redislock: nil client", func() { redislock.New((*redis.Client)(nil)) })
}

func TestBadRequests(t *testing.T) {
	b := newBackend(t, redistestClosedClient(t))
	good := request("k")
	for name, change := range map[string]func(*driver.Request){
		"no key":         func(r *driver.Request) { r.Key = "" },
		"the clock":      func(r *driver.Request) { r.Key = clockKey },
		"no owner":       func(r *driver.Request) { r.Owner = "" },
		"reserved owner": func(r *driver.Request) { r.Owner = "-" },
		"space":          func(r *driver.Request) { r.Owner = "secret owner" },
		"newline":        func(r *driver.Request) { r.Owner = "secret\n" },
		"not ASCII":      func(r *driver.Request) { r.Owner = "secretä" },
		"short TTL":      func(r *driver.Request) { r.TTL = time.Millisecond - 1 },
		"unknown mode":   func(r *driver.Request) { r.Mode = 7 },
		"no permits":     func(r *driver.Request) { r.Permits = -1 },
		"both modes":     func(r *driver.Request) { r.Mode, r.Permits = driver.Shared, 2 },
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
	// Companions of other locks, clocks, and braces that are not one hash tag.
	for _, key := range []string{"{a}:queue", "{a}:gone", "{a}:token", "{a}:gone:x", "distlock:clock:{m2k}", "{a}{b}", "{}", "a}", "{a"} {
		for what, use := range map[string]func(ctx context.Context, key string) error{
			"Acquire":      func(ctx context.Context, key string) error { _, err := b.Acquire(ctx, request(key)); return err },
			"ForceRelease": func(ctx context.Context, key string) error { _, err := b.ForceRelease(ctx, key); return err },
			"Revoke":       func(ctx context.Context, key string) error { _, err := b.Revoke(ctx, key); return err },
		} {
			err := use(t.Context(), key)
			matches(t, what, err)
			if errors.Is(err, redis.ErrClosed) {
				t.Errorf("%s(%q) was sent", what, key)
			}
			says(t, what, err, key)
		}
	}
	if n := b.InDoubt(); n != 0 {
		t.Errorf("%d doubts about what was never sent", n)
	}
}

// redistestClosedClient returns a client that cannot send anything.
func redistestClosedClient(t *testing.T) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0"})
	noError(t, c.Close())
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

// polling is request for an owner that looks by itself after each interval.
func polling(key string, interval time.Duration) driver.Request {
	r := request(key)
	r.Backoff = driver.NewBackoff(interval, 0)
	return r
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func reader(key string) driver.Request {
	r := request(key)
	r.Mode = driver.Shared
	return r
}

func permit(key string, n int) driver.Request {
	r := request(key)
	r.Permits = n
	return r
}

var (
	mustTry     = testkit.MustTry
	mustRelease = testkit.MustRelease
)

// mustBeLost releases what the owner has lost. A release that was sent twice, because a slow
// machine was late with the first answer, is no loss, so it may take another one.
func mustBeLost(t testing.TB, b *redislock.Backend, g driver.Grant) {
	t.Helper()
	testkit.Eventually(t, "a release tells the loss", func() bool { return errors.Is(b.Release(t.Context(), g), driver.ErrLost) })
}
