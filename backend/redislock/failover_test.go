package redislock_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// failover has locks with a known outcome: the kept locks were replicated to the
// replica that takes over, the lost ones were not.
type failover struct {
	t               *testing.T
	b               *redislock.Backend
	master, replica *redistest.Server
	kept, lost      []driver.Grant

	locker  *distlock.Locker
	toLose  []string
	lostOne *distlock.Lease
}

// startFailover acquires the locks that will be kept. The lost ones are acquired
// later.
func startFailover(t *testing.T, c redis.UniversalClient, master, replica *redistest.Server, keep, lose []string) *failover {
	t.Helper()
	f := &failover{t: t, b: newBackend(t, c), master: master, replica: replica, toLose: lose}
	f.locker = distlock.New(redislock.New(c, redislock.Config{}), distlock.Config{})
	t.Cleanup(func() { _ = f.locker.Close() })
	for _, key := range keep {
		f.kept = append(f.kept, f.take(key))
	}
	master.Replicated(t)
	return f
}

// take acquires a lock. The client may ask the former master first, until it learns of
// its successor.
func (f *failover) take(key string) driver.Grant {
	f.t.Helper()
	r := request(key)
	r.TTL = 2 * time.Minute
	var g driver.Grant
	var err error
	testkit.Eventually(f.t, "an attempt is answered", func() bool {
		g, err = f.b.TryAcquire(f.t.Context(), r)
		return err == nil || errors.Is(err, driver.ErrNotAcquired)
	})
	noError(f.t, err)
	return g
}

// cut acquires the lost locks, while the replica is stopped.
func (f *failover) cut() {
	f.t.Helper()
	f.master.CutOff(f.t, f.replica)
	for _, key := range f.toLose[1:] {
		f.lost = append(f.lost, f.take(key))
	}
	f.lostOne = testkit.MustAcquire(f.t, f.locker, f.toLose[0], distlock.Opts{KeyTimeout: 40 * time.Second})
}

// killMaster lets the replica take over without the lost locks, while the load goes on.
func (f *failover) killMaster(l *load) {
	f.t.Helper()
	f.cut()
	l.reg.SetLenient(true)
	f.master.Kill()
	f.replica.Cont()
	testkit.Eventually(f.t, "the replica takes over", func() bool { return f.replica.IsMaster(f.t) })
	f.check()
}

// check is called after the replica has taken over. Every holder learns the fate of its
// lock from a renewal, and a release gives the same answer.
func (f *failover) check() {
	t := f.t
	t.Helper()
	for _, grants := range [][]driver.Grant{f.kept, f.lost} {
		testkit.Eventually(t, "renewals are answered again", func() bool {
			return !slices.ContainsFunc(driver.RenewAll(t.Context(), f.b, grants), await.InDoubt)
		})
	}
	renewed(t, driver.RenewAll(t.Context(), f.b, f.kept), all("extended"))
	renewed(t, driver.RenewAll(t.Context(), f.b, f.lost), all("lost"))

	// Its lease would last longer than this waits: the renewal reports the loss.
	over := f.lostOne.Until()
	<-f.lostOne.Context().Done()
	if err := f.lostOne.Check(); !errors.Is(err, driver.ErrLost) || !time.Now().Before(over) {
		t.Errorf("the lost lease: %v, at %v, with a deadline of %v", err, time.Now(), over)
	}
	matches(t, "release of the lost lease", f.lostOne.Release(t.Context()), driver.ErrLost)

	// Another holder gets a lost lock, with a higher token.
	next := f.take(f.lost[0].Key)
	if next.Token <= f.lost[0].LastToken {
		t.Errorf("token %d after %d", next.Token, f.lost[0].LastToken)
	}
	for _, g := range f.lost {
		mustBeLost(t, f.b, g)
	}
	for _, g := range append(f.kept, next) {
		mustRelease(t, f.b, g)
	}
	noError(t, f.locker.Close())
}

// settle ends the noise, after the last old lease has ended or was renewed.
func settle(t *testing.T, l *load) {
	t.Helper()
	end := time.Now().Add(l.opts.KeyTimeout)
	l.goOn(50)
	testkit.Eventually(t, "the leases from before are over", func() bool { return time.Now().After(end) })
	l.reg.SetLenient(false)
}

// The master is killed, and a replica without some of the locks takes over; or the
// master is told to fail over.
//
// Row 5 (redislock): no token occurs twice, and holders of locks that the replica has
// not received learn of the loss at their next renewal. Fails if tokens are counted
// with INCR, or if a renewal creates a lock that is gone. Row 19 (redislock): Sentinel
// replaces a dead master, waiters reach the new one, inboxes are connected again, and
// renewals tell which locks are kept. Fails if tokens are counted with INCR.
func TestSentinelFailover(t *testing.T) {
	for name, killed := range map[string]bool{"killed": true, "told": false} {
		t.Run(name, func(t *testing.T) {
			testmode.Long(t)
			t.Parallel()
			s := redistest.StartSentinels(t)
			keys := []string{"f:0", "f:1", "f:2", "f:3", "f:4", "f:5"}
			var f *failover
			if killed {
				f = startFailover(t, s.Client(t), s.Master, s.Replica, keys[:3], keys[3:])
			}
			l := newLoad(t, loadKeys(12), s.Client(t), s.Client(t), s.Client(t))
			l.start(6, 2)
			l.goOn(200)
			if killed {
				f.killMaster(l)
			} else {
				l.reg.SetLenient(true)
				s.Failover(t)
				testkit.Eventually(t, "the roles are changed", func() bool { return s.Replica.IsMaster(t) && !s.Master.IsMaster(t) })
			}
			replica := server{Client: s.Replica.Client(t)}
			testkit.Eventually(t, "the inboxes have connected again", func() bool { return replica.inboxes(t) >= len(l.lockers) })
			settle(t, l)
			l.goOn(100)
			l.stop()
			t.Logf("%d served", l.reg.Uses())
			nothingLeft(t, s.Replica)
		})
	}
}

// A lock counts when the replica has it: none is granted while the replica is behind.
//
// Row 5 (redislock): with WaitReplicas no lock has two holders. Fails if a lock
// counts with too few confirmations.
func TestWaitReplicasBeforeAFailover(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := redistest.StartSentinels(t)
	b := newBackend(t, s.Client(t), redislock.Config{WaitReplicas: 1, WaitReplicasTimeout: confirmation})
	r := request("kept")
	r.TTL = time.Minute
	kept := confirmed(t, b, r)
	s.Master.CutOff(t, s.Replica)
	for _, key := range []string{"lost", "lost too"} {
		_, err := b.TryAcquire(t.Context(), request(key))
		if err == nil || errors.Is(err, driver.ErrNotAcquired) {
			t.Errorf("without the replica: %v", err)
		}
	}
	s.Master.Kill()
	s.Replica.Cont()
	testkit.Eventually(t, "the replica takes over", func() bool { return s.Replica.IsMaster(t) })

	other := newBackend(t, s.Client(t)) // it does not wait: there is no replica now
	var g driver.Grant
	testkit.Eventually(t, "the replica grants what was not", func() bool {
		var err error
		g, err = other.TryAcquire(t.Context(), request("lost"))
		return err == nil
	})
	mustRelease(t, other, g)
	if _, err := other.TryAcquire(t.Context(), request("kept")); !errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("a second holder: %v", err)
	}
	testkit.Eventually(t, "renewals are answered again", func() bool {
		return !await.InDoubt(driver.RenewAll(t.Context(), b, []driver.Grant{kept})[0])
	})
	renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{kept}), all("extended"))
	mustRelease(t, b, kept)
}

// One of a Cluster's masters is killed under load, and its successor does not have all
// locks.
//
// Row 18 (redislock): waiters reach the new master, holders are told, no token occurs
// twice. Fails if the other masters are not asked when a master is silent, or if tokens
// are counted with INCR.
func TestMasterKilled(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	c := redistest.StartClusterWithReplicas(t, 3, 3)
	dead, replica := c.Masters[1], c.Replicas[1]
	on := keysOn(t, c, 6)
	keep := append(append(on[dead][:3:3], on[c.Masters[0]][:2]...), on[c.Masters[2]][:2]...)
	f := startFailover(t, redistest.ClusterClient(t, c.Servers()), dead, replica, keep, on[dead][3:])
	l := clusterLoad(t, c, loadKeys(24))
	l.start(6, 2)
	l.goOn(200)
	f.killMaster(l)
	settle(t, l)
	l.goOn(100)
	l.stop()
	t.Logf("%d served", l.reg.Uses())
	nothingLeft(t, c.Masters[0], replica, c.Masters[2])
}

// A replica becomes the master, and the old master continues with clients that have not
// noticed. With min-replicas-to-write it refuses their renewals.
//
// Row 6 (redislock): refused renewals are retried until the deadline, then the lock is
// lost, and only then another holder gets it. Fails if a renewal without a reply is a
// loss at once.
func TestOldMasterStillWrites(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	old := realServer(t, "--repl-diskless-sync-delay", "0")
	replica := redistest.StartReplica(t, old.real)
	noError(t, old.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	locker := distlock.New(redislock.New(old.real.Client(t), unhurried), distlock.Config{})
	defer locker.Close()
	opts := distlock.Opts{KeyTimeout: 5 * time.Second, RetryInterval: 50 * time.Millisecond}
	lease := must(locker.Acquire(t.Context(), lockKey, opts))
	old.real.Replicated(t)
	replica.Promote(t, old.real)

	// Another process uses the new master.
	r := request(lockKey)
	r.TTL = time.Minute
	others := newBackend(t, replica.Client(t))
	next := testkit.StartWaiter(t, others, r, testkit.Looks{Every: 50 * time.Millisecond})

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
	if next.Err != nil || next.Got.Token <= lease.Token() {
		t.Errorf("token %d after %d, %v", next.Got.Token, lease.Token(), next.Err)
	}
	old.ConfigSet(t.Context(), "min-replicas-to-write", "0") // otherwise the clean-up in Close fails
	matches(t, "release by the old holder", lease.Release(t.Context()), driver.ErrLost)
	mustRelease(t, others, next.Got)
}

// keysOn returns n keys of each master.
func keysOn(t *testing.T, c *redistest.Cluster, n int) map[*redistest.Server][]string {
	t.Helper()
	on := make(map[*redistest.Server][]string)
	for i := 0; len(on[c.Masters[0]]) < n || len(on[c.Masters[1]]) < n || len(on[c.Masters[2]]) < n; i++ {
		key := fmt.Sprint("on:", i)
		m := c.Masters[min(c.Slot(t, key)*3/16384, 2)]
		if len(on[m]) < n {
			on[m] = append(on[m], key)
		}
	}
	return on
}
