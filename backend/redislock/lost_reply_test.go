package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// lossy is a server whose replies to one Backend can be lost.
type lossy struct {
	server
	t        *testing.T
	network  *spoilnet.Network
	b, other *redislock.Backend
	lost     atomic.Int64
}

// newLossy starts a server that knows the scripts. The Backend uses the client that
// over returns.
func newLossy(t *testing.T, over func(*redis.Client) redis.UniversalClient, change func(*redis.Options), opts ...redislock.Option) *lossy {
	t.Helper()
	s := &lossy{server: realServer(t), t: t}
	s.network = spoilnet.TCP(s.real.Addr())
	c := s.real.Client(t, func(o *redis.Options) { o.Dialer = s.network.DialContext }, change)
	s.b, s.other = newBackend(t, over(c), opts...), newBackend(t, s.Client)
	for _, r := range []driver.Request{request("warm"), reader("warm")} {
		var g driver.Grant
		testkit.Eventually(t, "it is acquired", func() bool {
			var err error
			g, err = s.b.Acquire(t.Context(), r)
			return err == nil
		})
		testkit.Eventually(t, "it is renewed", func() bool {
			return driver.RenewAll(t.Context(), s.b, []driver.Grant{g})[0].Status == driver.Renewed
		})
		s.giveBack(g)
	}
	return s
}

// giveBack releases, and repeats that without a reply: a client with short timeouts
// does not wait for a slow machine.
func (s *lossy) giveBack(g driver.Grant) {
	s.t.Helper()
	testkit.Eventually(s.t, "the release is answered", func() bool {
		err := s.b.Release(s.t.Context(), g)
		if errors.Is(err, driver.ErrLost) {
			s.t.Errorf("release: %v", err)
		}
		return err == nil
	})
}

// lose drops the reply to the next script.
func (s *lossy) lose() {
	s.network.DeafenAt(func(p []byte) bool {
		meant := scriptCall(p)
		if meant {
			s.lost.Add(1)
		}
		return meant
	})
}

// has reports whether the owner has the lock.
func (s *lossy) has(r driver.Request) bool {
	if r.Mode == driver.Shared {
		return s.ZScore(context.Background(), r.Key, "r "+r.Owner).Err() == nil
	}
	return s.owner(r.Key) == r.Owner
}

// acquired waits for the grant of an attempt with a lost reply, and checks that it is
// the only one that the server has made.
func (s *lossy) acquired(r driver.Request, attempt func(context.Context, driver.Request) (driver.Grant, error)) driver.Grant {
	s.t.Helper()
	lost := s.lost.Load()
	done := make(chan driver.Grant)
	go func() {
		defer close(done)
		for {
			g, err := attempt(s.t.Context(), r)
			switch {
			case err == nil:
				done <- g
				return
			case errors.Is(err, driver.ErrNotAcquired):
				s.t.Errorf("it waits for itself: %v", err)
				return
			}
		}
	}()
	testkit.Eventually(s.t, "it was granted", func() bool { return s.has(r) })
	g := <-done
	if s.lost.Load() != lost+1 {
		s.t.Fatal("no reply was lost")
	}
	if r.Mode == driver.Shared {
		return g // a repeated attempt has issued a new token
	}
	if got, want := s.Get(s.t.Context(), r.Key).Val(), fmt.Sprintf("%s %016d", r.Owner, g.LastToken); got != want {
		s.t.Errorf("the lock is %q instead of %q", got, want)
	}
	return g
}

// released releases a lock, drops the reply, and tries again until there is a reply.
func (s *lossy) released(g driver.Grant) {
	s.t.Helper()
	lost := s.lost.Load()
	s.lose()
	s.giveBack(g)
	if s.lost.Load() != lost+1 {
		s.t.Fatal("no reply was lost")
	}
}

// The reply to an acquisition, a renewal or a release is lost after the server has
// applied it. A repeat gets the same reply: the owner does not wait for itself, and a
// repeated release does not affect the next lock.
//
// Row 8 (redislock): repeats get the same grant and the same tokens, and release only
// their own lock. Fails if an owner is refused because of its own lock, or if a release
// does not check the owner.
func TestLostReplies(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	prompt := redislock.WithOpTimeout(redislock.DefaultOpTimeout) // the time of a lost reply
	impatient := func(o *redis.Options) { o.ReadTimeout = 100 * time.Millisecond }
	for client, c := range map[string]struct {
		over   func(*redis.Client) redis.UniversalClient
		change func(*redis.Options)
	}{
		"prompt":                 {func(c *redis.Client) redis.UniversalClient { return c }, func(*redis.Options) {}},
		"client that may repeat": {func(c *redis.Client) redis.UniversalClient { return wrapped{c} }, impatient},
		"caller repeats": {func(c *redis.Client) redis.UniversalClient { return wrapped{c} }, func(o *redis.Options) {
			impatient(o)
			o.MaxRetries = -1
		}},
	} {
		for mode, ask := range map[string]func(string) driver.Request{"exclusive": request, "reader": reader} {
			t.Run(client+"/"+mode, func(t *testing.T) {
				s := newLossy(t, c.over, c.change, prompt)
				ask := func() driver.Request {
					r := ask(lockKey)
					r.TTL, r.Backoff = time.Minute, driver.NewBackoff(time.Hour, 0)
					return r
				}
				r := ask()
				s.lose()
				g := s.acquired(r, s.b.TryAcquire)
				s.released(g)

				r = ask()
				s.lose()
				g = s.acquired(r, s.b.Acquire)

				s.lose()
				testkit.Eventually(t, "the renewal is answered", func() bool {
					got := driver.RenewAll(t.Context(), s.b, []driver.Grant{g})[0]
					if got.Status == driver.Lost {
						t.Error("the renewal denies its own lock")
					}
					return got.Status == driver.Renewed
				})

				// The next owner has the lock already when the release is repeated.
				next := request(lockKey)
				next.TTL, next.Backoff = time.Minute, driver.NewBackoff(time.Hour, 0)
				w := acquire(t.Context(), s.other, next)
				testkit.Eventually(t, "another waits", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
				s.released(g)
				<-w.done
				if w.err != nil || w.grant.Token <= g.LastToken {
					t.Errorf("token %d after %d, %v", w.grant.Token, g.LastToken, w.err)
				}
				_ = s.b.Release(t.Context(), g)
				if got := s.owner(lockKey); got != next.Owner {
					t.Fatalf("the lock of the next is %q", got)
				}

				// It is passed on to a waiter, and the reply to the claim is lost.
				r = ask()
				claimed := make(chan driver.Grant)
				go func() { claimed <- s.acquired(r, s.b.Acquire) }()
				testkit.Eventually(t, "it waits", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
				s.lose()
				mustRelease(t, s.other, w.grant)
				s.giveBack(<-claimed)
				if n := s.b.InDoubt(); n != 0 {
					t.Errorf("%d owners in doubt", n)
				}
				nothingLeft(t, s.real)
			})
		}
	}
}

// The reply is lost, and the caller leaves: a release removes what the attempt may have
// got, the lock or the place in the queue.
//
// Row 8 (redislock): an abandoned acquisition without a reply leaves nothing. Fails if
// a release leaves the place in the queue.
func TestLostRepliesGivenUp(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	for _, queued := range []bool{false, true} {
		s := newLossy(t, func(c *redis.Client) redis.UniversalClient { return wrapped{c} }, func(o *redis.Options) { o.MaxRetries = -1 })
		var held driver.Grant
		if queued {
			held = mustTry(t, s.other, request(lockKey))
		}
		r := request(lockKey)
		ctx, cancel := context.WithCancel(t.Context())
		s.lose()
		w := acquire(ctx, s.b, r)
		testkit.Eventually(t, "it was applied", func() bool {
			return s.has(r) || s.ZScore(t.Context(), queueKey, s.b.Member(r.Owner)).Err() == nil
		})
		cancel()
		<-w.done
		if !errors.Is(w.err, context.Canceled) {
			t.Errorf("acquire: %v", w.err)
		}
		if n := s.b.InDoubt(); n != 1 {
			t.Errorf("%d owners in doubt", n)
		}
		mustReleaseAny(t, s.b, r)
		if queued {
			if got := s.owner(lockKey); got != held.Owner {
				t.Errorf("the lock of the holder is %q", got)
			}
			mustRelease(t, s.other, held)
		}
		if keys := left(s.real); len(keys) != 0 {
			t.Errorf("left behind: %q", keys)
		}
		if n := s.b.InDoubt(); n != 0 {
			t.Errorf("%d owners in doubt", n)
		}
	}
}

// The reply to a release is lost, and before it is sent again the next owner has
// acquired and released the lock. The server has no record of the first release.
//
// Row 8 (redislock): a release that was sent twice is not a loss. Fails if the second
// reply counts although the first is unknown.
func TestReleaseSentTwice(t *testing.T) {
	s := newLossy(t, func(c *redis.Client) redis.UniversalClient { return c }, func(*redis.Options) {}, redislock.WithOpTimeout(redislock.DefaultOpTimeout))
	for range 100 {
		g := must(s.b.Acquire(t.Context(), request(lockKey)))
		lost := s.lost.Load()
		s.lose()
		done := make(chan error)
		go func() { done <- s.b.Release(t.Context(), g) }()
		testkit.Eventually(t, "the release was applied", func() bool { return s.lost.Load() > lost && !s.has(driver.Request{Key: lockKey, Owner: g.Owner}) })
		mustRelease(t, s.other, must(s.other.Acquire(t.Context(), request(lockKey))))
		err := <-done
		if err != nil && !errors.Is(err, driver.ErrLost) {
			continue // the server was not responsive, so this was sent only once
		}
		if err != nil {
			t.Errorf("release: %v", err)
		}
		return
	}
	t.Fatal("it was never sent twice")
}
