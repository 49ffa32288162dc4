package redislock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// A replica becomes the master, and the old master continues with clients that have not
// noticed. With min-replicas-to-write it refuses their renewals. They retry until the
// deadline, and stop before the new master grants the lock to another.
//
// Row 6 (redislock): refused renewals are retried until the deadline, then the lock is
// lost, and only then another holder gets it. Fails if a renewal without a reply is a
// loss at once.
func TestOldMasterStillWrites(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	old := realServer(t, "--repl-diskless-sync-delay", "0")
	heir := redistest.StartReplica(t, old.real)
	noError(t, old.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	locker := distlock.New(redislock.New(old.real.Client(t), unhurried), distlock.Config{})
	defer locker.Close()
	opts := distlock.Opts{KeyTimeout: 5 * time.Second, RetryInterval: 50 * time.Millisecond}
	lease := must(locker.Acquire(t.Context(), lockKey, opts))
	old.real.Replicated(t)
	heir.Promote(t, old.real)

	// Another process uses the new master.
	r := request(lockKey)
	r.TTL, r.Backoff = time.Minute, driver.NewBackoff(50*time.Millisecond, 0)
	others := newBackend(t, heir.Client(t))
	next := testkit.StartWaiter(t, others, r)

	testkit.Eventually(t, "a renewal is refused", func() bool { return old.real.ErrorStat(t, "NOREPLICAS") > 0 })
	deadline := lease.Until() // no refusal extends it
	_, err := locker.TryAcquire(t.Context(), "another", opts)
	matches(t, "a new lock of the old master", err, distlock.ErrUnavailable)
	says(t, "a new lock of the old master", err, "NOREPLICAS")
	first := old.real.ErrorStat(t, "NOREPLICAS")

	<-lease.Context().Done()
	if now := time.Now(); now.Before(deadline) {
		t.Errorf("given up %v before the deadline", deadline.Sub(now))
	}
	matches(t, "the old holder", lease.Check(), driver.ErrLost)
	says(t, "the old holder", lease.Check(), "the lease of 5s ran out")
	if n := old.real.ErrorStat(t, "NOREPLICAS"); n < first+2 {
		t.Errorf("%d refusals at first, %d in the end: it did not try on", first, n)
	}

	<-next.Done
	if lease.Check() == nil {
		t.Error("two have the lock")
	}
	if next.Err != nil || next.Grant.Token <= lease.Token() {
		t.Errorf("token %d after %d, %v", next.Grant.Token, lease.Token(), next.Err)
	}
	old.ConfigSet(t.Context(), "min-replicas-to-write", "0") // otherwise the clean-up in Close fails
	matches(t, "release by the old holder", lease.Release(t.Context()), driver.ErrLost)
	mustRelease(t, others, next.Grant)
}
