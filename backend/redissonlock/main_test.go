package redissonlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/redistest"
)

func TestMain(m *testing.M) {
	// go-redis tries to reach a dead server once a second, and notices only then that
	// the client was closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// The keys of a lock.
const (
	lockKey    = "shop:pay"
	counterKey = "redisson_lock_token:{shop:pay}"
	goneKey    = "distlock_gone:{shop:pay}"
	channel    = "redisson_lock__channel:{shop:pay}"
	rwChannel  = "redisson_rwlock:{shop:pay}"
)

// unhurried is a timeout that is longer than the pauses of a slow machine, for tests that do
// not test timeouts.
var unhurried = redissonlock.WithOpTimeout(10 * time.Second)

// newBackend returns a Backend with the timeout unhurried, unless opts change it.
func newBackend(t testing.TB, c redis.UniversalClient, opts ...redissonlock.Option) *redissonlock.Backend {
	t.Helper()
	b := redissonlock.New(c, append([]redissonlock.Option{unhurried}, opts...)...)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// virtual returns a Backend in the bubble of the test, and a client of its server.
func virtual(t testing.TB, opts ...redissonlock.Option) (*redissonlock.Backend, *redis.Client) {
	t.Helper()
	m := redistest.Virtual(t)
	return newBackend(t, redistest.VirtualClient(t, m, redistest.Buffered), opts...), redistest.VirtualClient(t, m)
}

func request(key string) driver.Request {
	return driver.Request{Key: key, Owner: uuid.NewString(), TTL: 10 * time.Second, Tokens: 1}
}

func mustTry(t testing.TB, b *redissonlock.Backend, r driver.Request) driver.Grant {
	t.Helper()
	g, err := b.TryAcquire(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustRelease(t testing.TB, b *redissonlock.Backend, g driver.Grant) {
	t.Helper()
	noError(t, b.Release(context.Background(), g))
}

// mustBeHeld checks that another has the key, and returns what the Backend says of it.
func mustBeHeld(t testing.TB, b *redissonlock.Backend, key string) *driver.HeldError {
	t.Helper()
	_, err := b.TryAcquire(context.Background(), request(key))
	held := new(driver.HeldError)
	if !errors.As(err, &held) {
		t.Fatalf("TryAcquire: %v, want a HeldError", err)
	}
	return held
}

func renew(t testing.TB, b *redissonlock.Backend, g driver.Grant) driver.RenewStatus {
	t.Helper()
	r := driver.RenewAll(context.Background(), b, []driver.Grant{g})[0]
	if r.Err != nil {
		t.Error(r.Err)
	}
	return r.Status
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isHeld reports whether err says that another has the key.
func isHeld(err error) bool { return errors.As(err, new(*driver.HeldError)) }
