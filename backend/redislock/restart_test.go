package redislock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Row 4 (redislock): the holder learns of it at its next renewal, the next token is
// higher, the waiter is served. Fails if tokens start at 1 without the counter, or if a
// renewal creates a lock that is gone.
func TestRestartedEmpty(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	b := newBackend(t, s.Client, redislock.WithOpTimeout(500*time.Millisecond))
	g := mustTry(t, b, request(lockKey))
	locker := testkit.NewLocker(t, redislock.New(s.Client), distlock.Config{})
	lease := must(locker.Acquire(t.Context(), "another", distlock.Opts{KeyTimeout: 20 * time.Second}))
	r := request(lockKey)
	r.Backoff = driver.NewBackoff(20*time.Millisecond, 0)
	w := testkit.StartWaiter(t, b, r)
	testkit.Eventually(t, "it has queued", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
	s.real.Kill()
	<-w.Done
	matches(t, "the waiter", w.Err)
	refused := `^redislock: .*dial tcp ` + s.real.Addr() + `: connect: connection refused`
	got := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]
	if got.Status != driver.Unknown {
		t.Errorf("renewal: %v", got.Status)
	}
	readable(t, "the holder's renewal", got.Err, refused)
	s.real.Restart()

	testkit.Eventually(t, "the waiter is served", func() bool {
		w = testkit.StartWaiter(t, b, r)
		<-w.Done
		return w.Err == nil
	})
	if w.Got.Token <= g.LastToken {
		t.Errorf("token %d after %d", w.Got.Token, g.LastToken)
	}
	testkit.Eventually(t, "the holder learns of it", func() bool {
		return driver.RenewAll(t.Context(), b, []driver.Grant{g})[0].Status == driver.Lost
	})
	mustBeLost(t, b, g)
	mustRelease(t, b, w.Got)
	<-lease.Context().Done()
	matches(t, "the holder", lease.Check(), driver.ErrLost)
	says(t, "the holder", lease.Check(), "the store says") // it has not just expired
	matches(t, "its release", lease.Release(t.Context()), driver.ErrLost)
}
