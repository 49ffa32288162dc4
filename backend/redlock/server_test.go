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
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// The rules in doc.go are sufficient, and each is necessary.
func TestACL(t *testing.T) {
	f := realFleet(t, 3)
	rules := redistest.DocumentedRules(t, 20)
	ctx := context.Background()
	use := func(rules []string) error {
		var cs []redis.UniversalClient
		for i, c := range f.admins {
			if err := errors.Join(c.FlushAll(ctx).Err(), c.ScriptFlush(ctx).Err()); err != nil {
				t.Fatal(err)
			}
			redistest.SetUser(t, c, rules)
			cs = append(cs, f.servers[i].Client(t, redistest.AsUser))
		}
		b := newBackend(t, cs, redlock.WithTokens(), redlock.WithNodeTimeout(10*time.Second))
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
		if got := driver.RenewAll(ctx, b, []driver.Grant{g}); got[0].Status != driver.Renewed {
			return errors.Join(fmt.Errorf("the renewal: %v", got[0].Status), got[0].Err)
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
}

// A missing permission does not say which owner has the key: the renewal is not denied,
// and the release not done.
func TestRightTakenAway(t *testing.T) {
	f := realFleet(t, 3)
	rules := redistest.DocumentedRules(t, 20)
	var cs []redis.UniversalClient
	for i, c := range f.admins {
		redistest.SetUser(t, c, rules)
		cs = append(cs, f.servers[i].Client(t, redistest.AsUser))
	}
	b := newBackend(t, cs, redlock.WithNodeTimeout(10*time.Second))
	g, err := b.TryAcquire(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.admins {
		redistest.SetUser(t, c, append(rules, "-get"))
	}
	if got := status(t, b, g); got != driver.Unknown {
		t.Errorf("renewal: %v", got)
	}
	if err := b.Release(t.Context(), g); err == nil || errors.Is(err, driver.ErrLost) {
		t.Errorf("release: %v", err)
	}
	for _, c := range f.admins {
		redistest.SetUser(t, c, rules)
	}
	release(t, b, g)
}

// A server that is out of memory refuses new locks, but renews and releases existing
// ones. The same holds after it has forgotten its scripts.
//
// Row 17 (redlock): full nodes renew and release what they have. Fails if a renewal
// writes what a full node refuses.
func TestOutOfMemory(t *testing.T) {
	f := realFleet(t, 3)
	b := f.backend(t, redlock.WithTokens())
	ctx := context.Background()
	g := f.everywhere(t, b, request())
	for _, c := range f.admins {
		if err := errors.Join(c.ConfigSet(ctx, "maxmemory", "1").Err(), c.ScriptFlush(ctx).Err()); err != nil {
			t.Fatal(err)
		}
	}
	if got := status(t, b, g); got != driver.Renewed {
		t.Errorf("renewal: %v", got)
	}
	release(t, b, g)
	release(t, b, g)
	f.allFree(t)
	_, err := b.TryAcquire(ctx, request())
	mustFail(t, err)
	if !strings.Contains(err.Error(), "OOM") {
		t.Errorf("acquire: %v", err)
	}
	for _, c := range f.admins {
		c.ConfigSet(ctx, "maxmemory", "0")
	}
	next := acquire(t, b, request())
	if next.Token <= g.LastToken {
		t.Errorf("token %d after %d", next.Token, g.LastToken)
	}
	release(t, b, next)
}

// Foreign values are neither changed nor treated as locks.
//
// Row 22 (redlock): an error names the value, and the value is not changed. Fails if a
// foreign type counts as a free lock.
func TestForeignRecords(t *testing.T) {
	f := realFleet(t, 3)
	b := f.backend(t)
	ctx := context.Background()
	release(t, b, f.everywhere(t, b, request()))
	f.allFree(t)
	for _, c := range f.admins {
		c.RPush(ctx, lockKey, "a list")
	}
	r := request()
	_, err := b.TryAcquire(ctx, r)
	if !errors.Is(err, driver.ErrForeign) || !strings.Contains(err.Error(), "a list on ") {
		t.Errorf("acquire: %v", err)
	}
	if got := status(t, b, r.Grant()); got != driver.Lost {
		t.Errorf("renewal: %v", got)
	}
	if err := b.Release(ctx, r.Grant()); !errors.Is(err, driver.ErrLost) {
		t.Errorf("release: %v", err)
	}
	for _, c := range f.admins {
		if n := c.LLen(ctx, lockKey).Val(); n != 1 {
			t.Errorf("the list has %d elements", n)
		}
		c.Del(ctx, lockKey)
	}
}
