package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

// useShared uses those commands that only permits and readers need.
func useShared(t *testing.T, s server, b *redislock.Backend) error {
	t.Helper()
	r := request("shop:sale")
	r.Permits = 2
	g, err := b.TryAcquire(t.Context(), r)
	if err != nil {
		return err
	}
	got := driver.RenewAll(t.Context(), b, []driver.Grant{g})
	if got[0].Status != driver.Renewed {
		return errors.Join(fmt.Errorf("the renewal of a permit: %v", got[0].Status), got[0].Err)
	}
	// An expired holder, and one more.
	s.ZAdd(t.Context(), r.Key, redis.Z{Score: 1, Member: "p x"})
	again := request(r.Key)
	again.Permits = 2
	if _, err := b.TryAcquire(t.Context(), again); err != nil {
		return err
	}
	return b.Release(t.Context(), g)
}

// releaseTogether releases several locks with one script.
func releaseTogether(t *testing.T, s server, b *redislock.Backend) error {
	t.Helper()
	errs := make([]error, 16)
	var all sync.WaitGroup
	grants := make([]driver.Grant, len(errs))
	for i := range grants {
		if grants[i], errs[i] = b.TryAcquire(t.Context(), request(fmt.Sprint("shop:", i))); errs[i] != nil {
			return errs[i]
		}
	}
	s.paused(func() {
		for i, g := range grants {
			all.Go(func() { errs[i] = b.Release(t.Context(), g) })
		}
		testkit.Eventually(t, "they meet", func() bool { return b.Queued() > len(errs)/2 })
	})
	all.Wait()
	return errors.Join(errs...)
}

// The rules in doc.go are sufficient, and each is necessary.
func TestACL(t *testing.T) {
	s := realServer(t)
	use := func(rules []string) error {
		redistest.SetUser(t, s.Client, rules)
		s.FlushAll(t.Context())
		s.ScriptFlush(t.Context())
		b := newBackend(t, s.real.Client(t, redistest.AsUser))
		defer b.Close()
		testkit.Eventually(t, "earlier inboxes are gone", func() bool { return s.inboxes(t) == 0 })
		g, err := b.Acquire(t.Context(), request("shop:pay"))
		if err != nil {
			return err
		}
		if err := useShared(t, s, b); err != nil {
			return err
		}
		if got := driver.RenewAll(t.Context(), b, []driver.Grant{g}); got[0].Status != driver.Renewed {
			return errors.Join(fmt.Errorf("the renewal: %v", got[0].Status), got[0].Err)
		}
		if err := releaseTogether(t, s, b); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		w := acquire(ctx, b, request("shop:pay"))
		testkit.Eventually(t, "it has queued or failed", func() bool {
			select {
			case <-w.done:
				return true
			default:
				return s.ZCard(t.Context(), queueKey).Val() == 1 && s.inboxes(t) == 1
			}
		})
		released := b.Release(t.Context(), g)
		if released != nil {
			cancel() // it cannot succeed
		}
		<-w.done
		return errors.Join(released, w.err)
	}

	redistest.MustBeEnough(t, documentedRules(t), map[string]bool{
		"+getset":         true, // only the frequent case uses it
		"+mget":           true, // for releases that are sent together
		"+subscribe":      true, // without it, waiters poll
		"+ping":           true, // to notice a dead inbox sooner
		"+info":           true, // for the warning about eviction
		"+type":           true, // to say what a foreign lock is
		"+hello":          true, // optional for go-redis
		"+client|setname": true, // needed if the client has a name
	}, use)
}
