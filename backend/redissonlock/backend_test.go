package redissonlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestNewPanics(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	testkit.WantPanic(t, "redissonlock: nil client", func() { redissonlock.New(nil, redissonlock.Config{}) })
	testkit.WantPanic(t, "redissonlock: nil client", func() { redissonlock.New((*redis.Client)(nil), redissonlock.Config{}) })
	testkit.WantPanic(t, "redissonlock: the client of a Ring, of which Redisson has no counterpart", func() { redissonlock.New(ring, redissonlock.Config{}) })
	testkit.WantPanic(t, "redissonlock: Config.OpTimeout: 1µs is less than a millisecond", func() {
		redissonlock.New(client, redissonlock.Config{OpTimeout: time.Microsecond})
	})
}

// The rules in doc.go are sufficient, and each is necessary.
func TestACL(t *testing.T) {
	s := redistest.Start(t)
	admin := s.Client(t)
	use := func(rules []string) error {
		redistest.SetUser(t, admin, append(rules, "+scan"))
		admin.FlushAll(t.Context())
		admin.ScriptFlush(t.Context())
		b := newBackend(t, s.Client(t, redistest.AsUser))
		defer b.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		g, err := b.TryAcquire(ctx, request(lockKey))
		if err != nil {
			return err
		}
		if r := driver.RenewAll(ctx, b, []driver.Grant{g})[0]; r != nil {
			return r
		}
		if _, err := b.TryAcquire(ctx, request(lockKey)); !isHeld(err) {
			return err
		}
		if _, err := b.Inspect(ctx, "shop:", 10); err != nil {
			return err
		}
		if err := b.Release(ctx, g); err != nil {
			return err
		}
		if _, err = b.ForceRelease(ctx, lockKey); err != nil {
			return err
		}
		return b.Ping(ctx)
	}
	redistest.MustBeEnough(t, redistest.DocumentedRules(t, 20), map[string]bool{
		"+zadd": true, "+zremrangebyscore": true, // only for an attempt in doubt
		"+publish":        true, // without it, waiters in Java sleep
		"+subscribe":      true, // without it, waiters poll
		"+unsubscribe":    true, // to stop listening
		"+ping":           true, // to notice a dead connection sooner
		"+type":           true, // to say what a foreign value is
		"+exists":         true, // to say why a release failed
		"+hello":          true, // optional for go-redis
		"+client|setname": true, // needed if the client has a name
	}, use)

	// With the rules, messages arrive.
	admin.FlushAll(t.Context())
	redistest.SetUser(t, admin, redistest.DocumentedRules(t, 20))
	b := newBackend(t, s.Client(t, redistest.AsUser))
	g := testkit.MustTry(t, b, request(lockKey))
	up := b.Turn(t.Context(), driver.Request{Key: lockKey})
	<-up
	testkit.MustRelease(t, b, g)
	select {
	case <-up:
	case <-time.After(time.Minute):
		t.Error("no message")
	}
	refusals, err := admin.ACLLog(t.Context(), 1).Result()
	noError(t, err)
	for _, r := range refusals {
		if r.Reason == "channel" || r.Reason == "key" {
			t.Errorf("refused: %s %q", r.Reason, r.Object)
		}
	}
}

// The keys of a lock.
const (
	lockKey    = "shop:pay"
	counterKey = "redisson_lock_token:{shop:pay}"
	goneKey    = "distlock_gone:{shop:pay}"
	channel    = "redisson_lock__channel:{shop:pay}"
	rwChannel  = "redisson_rwlock:{shop:pay}"
)

// unhurried has a timeout that is longer than the pauses of a slow machine, for tests
// that do not test timeouts.
var unhurried = redissonlock.Config{OpTimeout: 10 * time.Second}

// newBackend returns a Backend with the Config, or with unhurried if there is none.
func newBackend(t testing.TB, c redis.UniversalClient, cfg ...redissonlock.Config) *redissonlock.Backend {
	t.Helper()
	b := redissonlock.Open(c, append(cfg, unhurried)[0])
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// virtual returns a Backend in the bubble of the test, and a client of its server.
func virtual(t testing.TB, cfg ...redissonlock.Config) (*redissonlock.Backend, *redis.Client) {
	t.Helper()
	m := redistest.Virtual(t)
	return newBackend(t, redistest.VirtualClient(t, m), cfg...), redistest.VirtualClient(t, m)
}

func request(key string) driver.Request {
	return driver.Request{Key: key, Owner: uuid.NewString(), TTL: 10 * time.Second, Tokens: 1}
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

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isHeld reports whether err says that another has the key.
func isHeld(err error) bool { return errors.As(err, new(*driver.HeldError)) }
