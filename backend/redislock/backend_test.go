package redislock_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestNewPanics(t *testing.T) {
	client := redistestClosedClient(t)
	bad := func(c redis.UniversalClient, cfg redislock.Config) func() { return func() { redislock.New(c, cfg) } }
	wait := func(c redis.UniversalClient, d time.Duration) func() {
		return bad(c, redislock.Config{WaitReplicas: 1, WaitReplicasTimeout: d})
	}
	for want, f := range map[string]func(){
		"nil client": bad(nil, redislock.Config{}),
		`Config.Clock: "{shop}" contains a brace`:                                 bad(client, redislock.Config{Clock: "{shop}"}),
		"Config.ClaimWindow: 1µs is less than a millisecond":                      bad(client, redislock.Config{ClaimWindow: time.Microsecond}),
		"Config.OpTimeout: -1s is less than a millisecond":                        bad(client, redislock.Config{OpTimeout: -time.Second}),
		"Config.WaitReplicas: -1":                                                 bad(client, redislock.Config{WaitReplicas: -1}),
		"Config.WaitReplicasTimeout: 1ms without WaitReplicas":                    bad(client, redislock.Config{WaitReplicasTimeout: time.Millisecond}),
		"Config.WaitReplicasTimeout: 1µs is less than a millisecond":              wait(client, time.Microsecond),
		"Config.WaitReplicasTimeout: 1s is not shorter than OpTimeout, 1s":        wait(client, time.Second),
		"Config.WaitReplicas: a redislock_test.wrapped may have many connections": wait(wrapped{client}, time.Millisecond),
	} {
		testkit.WantPanic(t, "redislock: "+want, f)
	}
	testkit.WantPanic(t, "redislock: nil client", func() { redislock.New((*redis.Client)(nil), redislock.Config{}) })
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
			for _, acquire := range []func(context.Context, driver.Request) (driver.Grant, error){b.Enqueue, b.TryAcquire} {
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
			"Acquire":      func(ctx context.Context, key string) error { _, err := b.Enqueue(ctx, request(key)); return err },
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
// decides what they mean. What was not sent has the error of the context, unchanged.
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
	if got := driver.RenewAll(t.Context(), b, []driver.Grant{r.Grant()}); !await.InDoubt(got[0]) || !closed(got[0]) {
		t.Errorf("renew: %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Enqueue(ctx, r); err != context.Canceled { //nolint:errorlint // the same value
		t.Errorf("acquire: %v", err)
	}
	if err := b.Release(ctx, r.Grant()); !await.InDoubt(err) {
		t.Errorf("release: %v", err)
	}
}

// unhurried has a timeout that is longer than the pauses of a slow machine, for tests
// that do not test timeouts.
var unhurried = redislock.Config{OpTimeout: 10 * time.Second}

// newBackend returns a Backend with the Config, if there is one. Its timeout is that of
// unhurried, unless the Config has another.
func newBackend(t testing.TB, c redis.UniversalClient, change ...redislock.Config) *redislock.Backend {
	t.Helper()
	cfg := append(change, redislock.Config{})[0]
	cfg.OpTimeout = cmp.Or(cfg.OpTimeout, unhurried.OpTimeout)
	b := redislock.Open(c, cfg)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		testkit.Eventually(t, "no waiter is left", func() bool { return b.Waiters() == 0 })
	})
	return b
}

func request(key string) driver.Request {
	return driver.Request{Key: key, Owner: uuid.NewString(), TTL: 10 * time.Second, Tokens: 1}
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

// mustBeLost releases what the owner has lost. A release that was sent twice, because a
// slow machine was late with the first answer, is no loss, so it may take another one.
func mustBeLost(t testing.TB, b *redislock.Backend, g driver.Grant) {
	t.Helper()
	testkit.Eventually(t, "a release tells the loss", func() bool { return errors.Is(b.Release(t.Context(), g), driver.ErrLost) })
}

// The application's own commands use all connections of its client. Locks have connections of
// their own: what is held is renewed and released, and another lock can be acquired.
func TestUsedUpPool(t *testing.T) {
	c := realServer(t).real.Client(t, func(o *redis.Options) { o.PoolSize = 2 })
	b := newBackend(t, c)
	var held []driver.Grant
	for mode, ask := range modes {
		held = append(held, testkit.MustTry(t, b, ask("shop:"+mode)))
	}
	redistest.UseUp(t, c)
	testkit.MustRelease(t, b, testkit.MustTry(t, b, request("shop:late")))
	for _, g := range held {
		testkit.MustRenew(t, b, g)
		testkit.MustRelease(t, b, g)
	}
}
