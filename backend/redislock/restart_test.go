package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// A server restarts empty: the holder learns of it, tokens rise, and the waiter is
// served.
//
// Row 4 (redislock): the holder learns of it at its next renewal, the next token is
// higher, the waiter is served. Fails if tokens start at 1 without the counter, or if a
// renewal creates a lock that is gone.
func TestRestartedEmpty(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	b := newBackend(t, s.Client)
	g, err := b.TryAcquire(t.Context(), request(lockKey))
	if err != nil {
		t.Fatal(err)
	}
	locker := distlock.New(redislock.New(s.Client), distlock.Config{})
	defer locker.Close()
	lease := must(locker.Acquire(t.Context(), "another", distlock.Opts{KeyTimeout: 20 * time.Second}))
	r := request(lockKey)
	r.Backoff = driver.NewBackoff(20*time.Millisecond, 0)
	w := acquire(t.Context(), b, r)
	testkit.Eventually(t, "it has queued", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
	s.real.Kill()
	testkit.Eventually(t, "the failure is told", func() bool {
		select {
		case <-w.done:
			return true
		default:
			return false
		}
	})
	if w.err == nil || contextError(w.err) || errors.Is(w.err, driver.ErrNotAcquired) {
		t.Errorf("acquire: %v", w.err)
	}
	s.real.Restart()

	w = acquire(t.Context(), b, r)
	<-w.done
	if w.err != nil || w.grant.Token <= g.LastToken {
		t.Errorf("%+v, %v after token %d", w.grant, w.err, g.LastToken)
	}
	if got := driver.RenewAll(t.Context(), b, []driver.Grant{g}); got[0].Status != driver.Lost {
		t.Errorf("renewal of what was lost: %v", got)
	}
	if err := b.Release(t.Context(), g); !errors.Is(err, driver.ErrLost) {
		t.Errorf("release of what was lost: %v", err)
	}
	if err := b.Release(t.Context(), w.grant); err != nil {
		t.Error(err)
	}
	<-lease.Context().Done()
	matches(t, "the holder", lease.Check(), driver.ErrLost)
	says(t, "the holder", lease.Check(), "the store says") // it has not just expired
}
