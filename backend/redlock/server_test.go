package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The rules in doc.go are sufficient, and each is necessary.
func TestACL(t *testing.T) {
	f := realFleet(t, 3)
	rules := redistest.DocumentedRules(t, 20)
	ctx := context.Background()
	use := func(rules []string) error {
		for _, c := range f.admins {
			if err := errors.Join(c.FlushAll(ctx).Err(), c.ScriptFlush(ctx).Err()); err != nil {
				t.Fatal(err)
			}
		}
		b := f.backendAsUser(t, rules, redlock.Config{Tokens: true})
		defer b.Close()
		r := request()
		g, err := b.TryAcquire(ctx, r)
		if err != nil {
			return err
		}
		if _, err := b.TryAcquire(ctx, r); err != nil {
			return err
		}
		if _, err := b.TryAcquire(ctx, request()); !errors.Is(err, driver.ErrNotAcquired) {
			return fmt.Errorf("held: %w", err)
		}
		if got := driver.RenewAll(ctx, b, []driver.Grant{g}); got[0] != nil {
			return fmt.Errorf("the renewal: %w", got[0])
		}
		return b.Release(ctx, g)
	}

	redistest.MustBeEnough(t, rules, map[string]bool{
		"+publish":        true, // these four, to wake waiters
		"+subscribe":      true,
		"+unsubscribe":    true,
		"+ping":           true,
		"+info":           true, // to notice restarts
		"+type":           true, // to name a foreign type
		"+hello":          true, // optional for go-redis
		"+client|setname": true, // needed if the client has a name
	}, use)
	if err := use(append(rules, "-info")); err != nil {
		t.Errorf("without +info: %v", err)
	}

	// With the rules, messages arrive.
	for _, c := range f.admins {
		if err := errors.Join(c.FlushAll(ctx).Err(), c.ACLLogReset(ctx).Err()); err != nil {
			t.Fatal(err)
		}
	}
	b := f.backendAsUser(t, rules, redlock.Config{})
	ctx, cancel := context.WithCancel(ctx)
	up := b.Turn(ctx, driver.Request{Key: lockKey})
	testkit.Eventually(t, "the watch begins", func() bool { return took(up) })
	testkit.MustRelease(t, b, testkit.MustTry(t, b, request()))
	testkit.Eventually(t, "the waiter wakes", func() bool { return took(up) })
	cancel()
	for _, c := range f.admins {
		testkit.Eventually(t, "the subscription ends", func() bool {
			n, err := c.PubSubNumSub(t.Context(), channel).Result()
			return err == nil && n[channel] == 0
		})
		for _, r := range c.ACLLog(t.Context(), 100).Val() {
			if r.Object != "client|setinfo" && r.Object != "client" { // go-redis reports its version, if it may
				t.Errorf("refused: %s %q", r.Reason, r.Object)
			}
		}
	}
}

// A missing permission does not say which owner has the key: the renewal is not denied,
// and the release not done.
func TestRightTakenAway(t *testing.T) {
	f := realFleet(t, 3)
	rules := redistest.DocumentedRules(t, 20)
	b := f.backendAsUser(t, rules, redlock.Config{})
	g := testkit.MustTry(t, b, request())
	for _, c := range f.admins {
		redistest.SetUser(t, c, append(rules, "-get"))
	}
	if got := testkit.Renewed(t, b, g); !await.InDoubt(got) {
		t.Errorf("renewal: %v", got)
	}
	if err := b.Release(t.Context(), g); err == nil || errors.Is(err, driver.ErrLost) {
		t.Errorf("release: %v", err)
	}
	for _, c := range f.admins {
		redistest.SetUser(t, c, rules)
	}
	testkit.MustRelease(t, b, g)
}

// Two addresses that lead to one server have one vote, so there is no lock with them.
func TestScriptOneServerTwice(t *testing.T) {
	f := realFleet(t, 3)
	clients := f.clients()
	clients[2] = f.client(0)
	b := newBackend(t, clients, redlock.Config{NodeTimeout: 3 * time.Second})
	r := request()
	_, err := b.TryAcquire(t.Context(), r)
	_ = b.Release(t.Context(), r.Grant())
	for what, err := range map[string]error{"an attempt": err, "a ping": b.Ping(t.Context())} {
		if err == nil || errors.Is(err, driver.ErrNotAcquired) || !strings.Contains(err.Error(), f.servers[0].Addr()+": it is the server of node 0, too") {
			t.Errorf("%s: %v", what, err)
		}
	}
	quiet(t, b)
	f.allFree(t)
}

// Foreign values are neither changed nor treated as locks.
//
// Row 22 (redlock): an error names the value, and the value is not changed. Fails if a
// foreign type counts as a free lock.
func TestForeignRecords(t *testing.T) {
	f := realFleet(t, 3)
	b := f.backend(t)
	ctx := context.Background()
	testkit.MustRelease(t, b, f.everywhere(t, b, request()))
	f.allFree(t)
	for _, c := range f.admins {
		c.RPush(ctx, lockKey, "a list")
	}
	r := request()
	_, err := b.TryAcquire(ctx, r)
	if !errors.Is(err, driver.ErrForeign) || !strings.Contains(err.Error(), "a list on ") {
		t.Errorf("acquire: %v", err)
	}
	testkit.MustBeLost(t, b, r.Grant())
	testkit.ReleaseLost(t, b, r.Grant())
	for _, c := range f.admins {
		if n := c.LLen(ctx, lockKey).Val(); n != 1 {
			t.Errorf("the list has %d elements", n)
		}
		c.Del(ctx, lockKey)
	}
	b = f.backend(t, redlock.Config{Tokens: true})
	for _, key := range []string{redlock.MarkerKey, "{" + lockKey + "}:token"} {
		for _, c := range f.admins {
			c.Del(ctx, key)
			c.RPush(ctx, key, "a list")
		}
		_, err := b.TryAcquire(ctx, request())
		if err == nil || errors.Is(err, driver.ErrNotAcquired) || !strings.Contains(err.Error(), "the key "+key+" is a list of another program") {
			t.Errorf("with a list at %s: %v", key, err)
		}
		f.allFree(t)
	}
}

// The addresses of all nodes lead to other servers, and the old ones refuse, for
// example because they have become replicas. Their connections stay open: each
// operation comes to the new servers.
func TestEndpointMoves(t *testing.T) {
	redistest.EachMove(t, 3, func(t *testing.T, clients []*redis.Client, move func()) {
		nodes := make([]redis.UniversalClient, len(clients))
		for i, c := range clients {
			nodes[i] = c
		}
		b := newBackend(t, nodes, redlock.Config{NodeTimeout: 3 * time.Second, MaxLease: time.Second})
		ask := func(key string) driver.Request {
			r := request()
			r.Key, r.TTL = key, time.Second
			return r
		}
		held, leaving := testkit.MustTry(t, b, ask("held")), testkit.MustTry(t, b, ask("leaving"))
		move()
		for what, done := range map[string]func() bool{
			"a renewal": func() bool { return errors.Is(testkit.Renewed(t, b, held), driver.ErrLost) },
			"a release": func() bool {
				err := b.Release(t.Context(), leaving)
				return err == nil || errors.Is(err, driver.ErrLost)
			},
			"an attempt": func() bool { _, err := b.TryAcquire(t.Context(), ask("free")); return err == nil },
			"a ping":     func() bool { return b.Ping(t.Context()) == nil },
		} {
			testkit.Eventually(t, what+" comes to the new servers", done)
		}
	})
}

// All nodes restart empty. After a longest lease a caller gets the lock.
//
// Row 4 (redlock): the holder learns of it at its next renewal, the lock is not granted
// for a longest lease, the next token is higher. Fails if tokens start at 1 without the
// counter, if an empty node is trusted at once, or if a renewal creates a lock that is
// gone.
func TestRestartedEmpty(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	f := realFleet(t, 3)
	const lease = 4 * time.Second
	b := f.backend(t, redlock.Config{Tokens: true, MaxLease: lease})
	g := f.everywhere(t, b, shorter(request(), lease))
	restarted := time.Now()
	f.restart(upTo(3)...)
	var got error
	testkit.Eventually(t, "a renewal is answered", func() bool {
		got = testkit.Renewed(t, b, g)
		return !await.InDoubt(got)
	})
	if !errors.Is(got, driver.ErrLost) {
		t.Errorf("renewal: %v", got)
	}
	testkit.ReleaseLost(t, b, g)

	var next driver.Grant
	testkit.Eventually(t, "it is granted again", func() bool {
		var err error
		next, err = b.TryAcquire(t.Context(), shorter(request(), lease))
		return err == nil
	})
	if d := time.Since(restarted); d < lease {
		t.Errorf("it is granted %v after the restart, and the old lease of %v is not over", d, lease)
	}
	if next.Token <= g.LastToken {
		t.Errorf("token %d after %d", next.Token, g.LastToken)
	}
	_ = b.Release(t.Context(), next) // its lease is short
}

// The nodes forget their scripts before each operation.
//
// Row 16 (redlock): locks are granted, renewed and released, and tokens rise. Fails if
// a script that a node has forgotten is not sent again.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	f := realFleet(t, 3)
	b := f.backend(t, redlock.Config{Tokens: true})
	f.warm(t, b)
	flush := func() {
		quiet(t, b)
		for _, c := range f.admins {
			c.ScriptFlush(t.Context())
		}
	}
	for last, i := uint64(0), 0; i < 10; i++ {
		flush()
		g := testkit.MustTry(t, b, request())
		if g.Token <= last {
			t.Fatalf("token %d after %d", g.Token, last)
		}
		last = g.LastToken
		flush()
		testkit.MustRenew(t, b, g)
		flush()
		testkit.MustRelease(t, b, g)
	}
	f.allFree(t)
}
