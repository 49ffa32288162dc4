package redislock_test

import (
	"context"
	"errors"
	"sync/atomic"
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

// lossy is a Backend that loses replies, and another one at the same server.
type lossy struct {
	t        *testing.T
	network  *spoilnet.Network
	b, other *redislock.Backend
	lost     atomic.Int32
}

// lose runs f, which must lose the reply to its first script, after the server has run it.
func (l *lossy) lose(f func()) {
	l.t.Helper()
	before := l.lost.Load()
	l.network.DeafenAt(func(p []byte) bool {
		meant := scriptCall(p)
		if meant {
			l.lost.Add(1)
		}
		return meant
	})
	f()
	if l.lost.Load() != before+1 {
		l.t.Fatal("no reply was lost")
	}
}

// acquired makes attempts until one is answered.
func (l *lossy) acquired(attempt func(context.Context, driver.Request) (driver.Grant, error), r driver.Request) driver.Grant {
	l.t.Helper()
	for {
		g, err := attempt(l.t.Context(), r)
		if errors.Is(err, driver.ErrNotAcquired) {
			l.t.Fatalf("it waits for itself: %v", err)
		}
		if err == nil {
			return g
		}
	}
}

// released releases until there is an answer.
func (l *lossy) released(g driver.Grant) {
	l.t.Helper()
	for {
		err := l.b.Release(l.t.Context(), g)
		if errors.Is(err, driver.ErrLost) {
			l.t.Fatalf("release: %v", err)
		}
		if err == nil {
			return
		}
	}
}

// The replies are lost after the server has applied the request.
//
// Row 8 (redislock): repeats get the same grant and the same tokens, and release only
// their own lock. Fails if an owner is refused because of its own lock, or if a release
// does not check the owner.
func TestVirtualLostReplies(t *testing.T) {
	for client, c := range map[string]struct {
		over    func(*redis.Client) redis.UniversalClient
		retries int
	}{
		"client repeats":         {func(c *redis.Client) redis.UniversalClient { return c }, 3},
		"backend repeats":        {func(c *redis.Client) redis.UniversalClient { return c }, -1},
		"client that may repeat": {func(c *redis.Client) redis.UniversalClient { return wrapped{c} }, 3},
		"caller repeats":         {func(c *redis.Client) redis.UniversalClient { return wrapped{c} }, -1},
	} {
		for mode, ask := range modes {
			testkit.InBubble(t, client+"/"+mode, func(t *testing.T) {
				m := redistest.Virtual(t)
				own, n := overNetwork(t, m, func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = c.retries, 100*time.Millisecond })
				admin := redistest.VirtualClient(t, m)
				l := &lossy{t: t, network: n, b: newBackend(t, c.over(own)), other: newBackend(t, admin)}
				loseAll(t, l, func(key string) driver.Request {
					r := ask(key)
					r.TTL = time.Minute
					return r
				}, func() string { return server{Client: admin}.owner(lockKey) })
				if m.Exists(lockKey) || m.Exists(queueKey) {
					t.Errorf("left behind: %q", m.Keys())
				}
			})
		}
	}
}

func loseAll(t *testing.T, l *lossy, ask func(key string) driver.Request, owner func() string) {
	t.Helper()
	// The server has the scripts.
	warm := mustTry(t, l.b, ask("warm"))
	renewed(t, driver.RenewAll(t.Context(), l.b, []driver.Grant{warm}), all(driver.Renewed))
	mustRelease(t, l.b, warm)

	g := mustTry(t, l.b, ask(lockKey)) // the server does not remember the release of an owner without a doubt
	l.lose(func() { l.released(g) })
	l.lose(func() { g = l.acquired(l.b.TryAcquire, ask(lockKey)) })
	l.lose(func() { l.released(g) })
	l.lose(func() { g = l.acquired(l.b.Enqueue, ask(lockKey)) })
	if g.Mode == driver.Exclusive && g.Permits == 0 {
		if again := l.acquired(l.b.Enqueue, driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL, Tokens: 1}); again.Token != g.Token {
			t.Errorf("token %d, and then %d", g.Token, again.Token)
		}
	}
	l.lose(func() {
		for {
			got := driver.RenewAll(t.Context(), l.b, []driver.Grant{g})[0]
			if got.Status == driver.Lost {
				t.Fatal("the renewal denies its own lock")
			}
			if got.Status == driver.Renewed {
				return
			}
		}
	})

	// The next owner has the lock already when the release is repeated.
	next := request(lockKey)
	next.TTL = time.Minute
	w := testkit.StartWaiter(t, l.other, next)
	synctest.Wait()
	l.lose(func() { l.released(g) })
	<-w.Done
	if w.Err != nil || w.Got.Token <= g.LastToken {
		t.Errorf("token %d after %d, %v", w.Got.Token, g.LastToken, w.Err)
	}
	_ = l.b.Release(t.Context(), g)
	if got := owner(); got != next.Owner {
		t.Fatalf("the lock of the next is %q", got)
	}

	// It is passed on to a waiter, and the reply to the claim is lost.
	claimed := make(chan driver.Grant)
	wait := func(ctx context.Context, r driver.Request) (driver.Grant, error) {
		return testkit.Await(ctx, l.b, r, testkit.Looks{})
	}
	go func() { claimed <- l.acquired(wait, ask(lockKey)) }()
	synctest.Wait()
	l.lose(func() {
		mustRelease(t, l.other, w.Got)
		g = <-claimed
	})
	l.released(g)
	if n := l.b.InDoubt(); n != 0 {
		t.Errorf("%d owners in doubt", n)
	}
}
