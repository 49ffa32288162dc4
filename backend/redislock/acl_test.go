package redislock_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// documentedRules returns the ACL rules of the package comment.
func documentedRules(t *testing.T) []string {
	t.Helper()
	return redistest.DocumentedRules(t, 20)
}

// inspection has the rules that Inspect needs besides.
var inspection = []string{"+scan", "+zcount", "+zrangebyscore"}

// useShared uses those commands that only permits and readers need.
func useShared(t *testing.T, s server, b *redislock.Backend, inspect bool) error {
	t.Helper()
	r := permit("shop:sale", 2)
	g, err := b.TryAcquire(t.Context(), r)
	if err != nil {
		return err
	}
	if got := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]; got != nil {
		return fmt.Errorf("the renewal of a permit: %w", got)
	}
	// An expired holder, and one more.
	s.ZAdd(t.Context(), r.Key, redis.Z{Score: 1, Member: "p x"})
	if _, err := b.TryAcquire(t.Context(), permit(r.Key, 2)); err != nil {
		return err
	}
	if inspect {
		if _, err := b.Inspect(t.Context(), "shop:", 10); err != nil {
			return err
		}
		if _, err := b.ForceRelease(t.Context(), "shop:none"); err != nil {
			return err
		}
	}
	return b.Release(t.Context(), g)
}

// The rules in doc.go are sufficient, and each is necessary. So are those for
// inspection.
func TestACL(t *testing.T) {
	s := realServer(t)
	use := func(rules []string, inspect bool) error {
		redistest.SetUser(t, s.Client, rules)
		s.FlushAll(t.Context())
		s.ScriptFlush(t.Context())
		b := newBackend(t, s.real.Client(t, redistest.AsUser))
		defer b.Close()
		testkit.Eventually(t, "earlier inboxes are gone", func() bool { return s.inboxes(t) == 0 })
		g, err := b.Enqueue(t.Context(), request(lockKey))
		if err != nil {
			return err
		}
		if err := useShared(t, s, b, inspect); err != nil {
			return err
		}
		if got := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]; got != nil {
			return fmt.Errorf("the renewal: %w", got)
		}
		w := testkit.StartWaiter(t, b, request(lockKey))
		testkit.Eventually(t, "it has queued or failed", func() bool {
			select {
			case <-w.Done:
				return true
			default:
				return s.ZCard(t.Context(), queueKey).Val() == 1 && s.inboxes(t) == 1
			}
		})
		released := b.Release(t.Context(), g)
		if released != nil {
			w.Cancel() // it cannot succeed
		}
		time.AfterFunc(20*time.Second, w.Cancel)
		<-w.Done
		return errors.Join(released, w.Err)
	}
	rules := documentedRules(t)
	noError(t, use(rules, false))
	redistest.MustBeEnough(t, append(rules, inspection...), map[string]bool{
		"+getset":         true, // only the frequent case uses it
		"+incrby":         true, // only plain attempts
		"+mget":           true, // for releases that are sent together
		"+publish":        true, // without these two, waiters poll
		"+subscribe":      true,
		"+ping":           true, // to notice a dead inbox sooner
		"+info":           true, // for the warning about eviction
		"+type":           true, // to say what a foreign lock is
		"+hello":          true, // optional for go-redis
		"+client|setname": true, // needed if the client has a name
	}, func(rules []string) error { return use(rules, true) })
}

// With a clock of its own, a user needs no rights beside those for its prefix. It can
// neither move the tokens of others nor stop their locks. Fails if a Backend uses
// another clock than that of Clock.
func TestACLOfOneClock(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	rules := slices.DeleteFunc(documentedRules(t), func(rule string) bool { return rule == "~distlock:clock*" })
	redistest.SetUser(t, s.Client, rules)
	shop := s.real.Client(t, redistest.AsUser)
	b, bank := newBackend(t, shop, redislock.Config{Clock: "shop:clock"}), newBackend(t, s.Client, redislock.Config{Clock: "bank:clock"})
	noError(t, b.Ping(t.Context()))
	for range 5 { // by scripts, then plainly
		g, err := b.Enqueue(t.Context(), request(lockKey))
		noError(t, err)
		mustRelease(t, b, g)
	}
	mustRelease(t, bank, mustTry(t, bank, request("bank:account")))
	for _, clock := range []string{"bank:clock", clockKey} {
		if err := shop.Set(t.Context(), clock, 1, 0).Err(); !redis.HasErrorPrefix(err, "NOPERM") {
			t.Errorf("the user writes %s: %v", clock, err)
		}
	}
	if keys := s.Keys(t.Context(), "*").Val(); len(keys) != 2 {
		t.Errorf("%q are left instead of the two clocks", keys)
	}
	if _, err := b.TryAcquire(t.Context(), request("shop:clock")); err == nil {
		t.Error("the clock is a lock")
	}
	if s.commandCalls(t, "incrby") == 0 {
		t.Error("no attempt was plain")
	}
}

// A grant, a release and a forced release that also tell others are answered as done.
// Fails if a script ends with the error of PUBLISH.
func TestWithoutPublish(t *testing.T) {
	s := realServer(t)
	redistest.SetUser(t, s.Client, append(documentedRules(t), "-publish"))
	b := newBackend(t, s.real.Client(t, redistest.AsUser))
	first, second, third := permit(lockKey, 2), permit(lockKey, 2), request(lockKey)
	mustTry(t, b, request(lockKey))
	_, _ = b.Enqueue(t.Context(), first)
	_, _ = b.Enqueue(t.Context(), second)
	s.Del(t.Context(), lockKey)
	g := mustTry(t, b, second) // it grants a permit to the first, too
	_, _ = b.Enqueue(t.Context(), third)
	mustRelease(t, b, first.Grant())
	mustRelease(t, b, g)
	if held, err := b.ForceRelease(t.Context(), lockKey); !held || err != nil {
		t.Errorf("it was not passed on to the third: %v", err)
	}
	_ = b.Release(t.Context(), third.Grant())
}

// A user that may not run TYPE still sees foreign locks, and sees nothing at a key that
// does not exist.
func TestForeignLockWithoutType(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	redistest.SetUser(t, s.Client, append(append(documentedRules(t), inspection...), "-type"))
	b := newBackend(t, s.real.Client(t, redistest.AsUser))
	s.HSet(t.Context(), "shop:hash", "a", "1")
	_, err := b.TryAcquire(t.Context(), request("shop:hash"))
	if !errors.Is(err, driver.ErrForeign) {
		t.Errorf("TryAcquire: %v", err)
	}
	if infos := mustInspect(t, b, "shop:hash"); len(infos) != 1 || infos[0].Foreign != "unknown" {
		t.Errorf("listed %+v", infos)
	}
	if infos := mustInspect(t, b, "shop:nothing"); len(infos) != 0 {
		t.Errorf("listed %+v", infos)
	}
}
