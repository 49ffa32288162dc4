package redislock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func contextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// With a client that never replies and ignores contexts, every operation returns when its
// timeout has passed, at the latest, or when its context ends. While a server is silent, a
// later operation ends with the one before it.
func TestVirtualHungClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := redislock.New(redistest.HungClient(t), redislock.WithOpTimeout(3*time.Second))
		r := request("k")
		g := r.Grant()

		for name, op := range map[string]func(context.Context) error{
			"TryAcquire": func(ctx context.Context) error { _, err := b.TryAcquire(ctx, r); return err },
			"Acquire":    func(ctx context.Context) error { _, err := b.Acquire(ctx, r); return err },
			"Release":    func(ctx context.Context) error { return b.Release(ctx, g) },
			"Renew": func(ctx context.Context) error {
				got := driver.RenewAll(ctx, b, []driver.Grant{g})
				if got[0].Status != driver.Unknown {
					t.Errorf("renewal: %v", got)
				}
				return got[0].Err
			},
		} {
			start := time.Now()
			err := op(t.Context())
			if d := time.Since(start); d == 0 || d > 3*time.Second || err == nil || contextError(err) {
				t.Errorf("%s with a context that goes on: %v after %v", name, err, d)
			}

			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start = time.Now()
			err = op(ctx)
			if d := time.Since(start); d != time.Second || err != context.DeadlineExceeded { //nolint:errorlint // the same value
				t.Errorf("%s with a deadline: %v after %v", name, err, d)
			}
			cancel()

			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			start = time.Now()
			err = op(ctx)
			if d := time.Since(start); d != time.Second || err != context.Canceled { //nolint:errorlint // the same value
				t.Errorf("%s with a context that is cancelled: %v after %v", name, err, d)
			}
		}
		start := time.Now()
		if err := b.Close(); err != nil || time.Since(start) > 3*time.Second {
			t.Errorf("Close: %v after %v", err, time.Since(start))
		}
	})
}

// A server is stopped and continues: all calls return in time, and nothing is left
// after an answered release, whatever the server still had to read.
func TestStoppedServer(t *testing.T) {
	s := realServer(t)
	const limit = 50 * time.Millisecond
	c := s.real.Client(t, func(o *redis.Options) { o.ReadTimeout = 100 * time.Millisecond })
	b := newBackend(t, c, redislock.WithOpTimeout(limit))
	patient := newBackend(t, c) // its operations end only with their context
	prompt := func(what string, f func()) {
		t.Helper()
		start := time.Now()
		f()
		if d := time.Since(start); d > limit+5*time.Second {
			t.Errorf("%s took %v", what, d)
		}
	}
	for round := range 10 {
		s.real.Stop()
		var wg sync.WaitGroup
		claims := make(chan driver.Grant, 8)
		for i := range cap(claims) {
			wg.Go(func() {
				r := request(lockKey)
				claims <- r.Grant()
				op := b.TryAcquire
				if i%2 == 1 {
					op = b.Acquire
				}
				prompt("acquire", func() {
					if _, err := op(t.Context(), r); err == nil || contextError(err) || errors.Is(err, driver.ErrNotAcquired) {
						t.Errorf("acquire: %v", err)
					}
				})
			})
		}
		wg.Wait()
		close(claims)
		prompt("renew", func() {
			if got := driver.RenewAll(t.Context(), b, []driver.Grant{request("k").Grant()}); got[0].Status != driver.Unknown {
				t.Errorf("renew: %v", got)
			}
		})
		cancelled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(limit/5, cancel)
		prompt("release", func() {
			if err := patient.Release(cancelled, request("k").Grant()); !errors.Is(err, context.Canceled) {
				t.Errorf("release: %v", err)
			}
		})

		s.real.Cont()
		for claim := range claims {
			testkit.Eventually(t, "a release is answered", func() bool {
				err := b.Release(t.Context(), claim)
				return err == nil || errors.Is(err, driver.ErrLost)
			})
		}
		if n := s.Exists(t.Context(), lockKey, queueKey).Val(); n != 0 {
			t.Fatalf("round %d left\n%s", round, s.dump(t))
		}
	}
	if n := b.InDoubt(); n != 0 {
		t.Errorf("%d owners in doubt", n)
	}
	// There are no other callers now.
	g, err := b.TryAcquire(t.Context(), request(lockKey))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(t.Context(), g); err != nil {
		t.Error(err)
	}
}

// A server is responsive and then hangs: a single caller without others may exceed its
// context a little, and later callers may not.
func TestVirtualHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		n := spoilnet.To(m.Dial)
		c := redistest.VirtualClient(t, m, func(o *redis.Options) { o.Dialer = n.DialContext; o.ReadTimeout = -1; o.WriteTimeout = -1 })
		b := newBackend(t, c, redislock.WithOpTimeout(redislock.DefaultOpTimeout))
		for range 3 {
			g, err := b.Acquire(t.Context(), request(lockKey))
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Release(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		n.Hang(true)
		const slack = 50 * time.Millisecond
		for i := range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			start := time.Now()
			_, err := b.Acquire(ctx, request(lockKey))
			if d := time.Since(start); err != context.Canceled || d > slack || i > 0 && d != 20*time.Millisecond { //nolint:errorlint // the same value
				t.Errorf("call %d: %v after %v", i, err, d)
			}
		}
		start := time.Now()
		_, err := b.TryAcquire(t.Context(), request(lockKey))
		if d := time.Since(start); d > redislock.DefaultOpTimeout || err == nil || contextError(err) {
			t.Errorf("%v after %v", err, d)
		}

		// It works again, with new connections.
		n.Hang(false)
		r := request(lockKey)
		g, err := b.TryAcquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Release(t.Context(), g); err != nil {
			t.Error(err)
		}
		n.CloseCut() // those requests had no timeout
	})
}
