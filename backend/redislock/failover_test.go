package redislock_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// failover has locks with a known outcome: the kept locks were replicated to the
// replica that takes over, the doomed ones were not.
type failover struct {
	t            *testing.T
	b            *redislock.Backend
	master, heir *redistest.Server
	kept, doomed []driver.Grant

	locker    *distlock.Locker
	toDoom    []string
	doomedOne *distlock.Lease
}

// startFailover acquires the locks that will be kept. The doomed ones are acquired
// later.
func startFailover(t *testing.T, c redis.UniversalClient, master, heir *redistest.Server, keep, doom []string) *failover {
	t.Helper()
	f := &failover{t: t, b: newBackend(t, c), master: master, heir: heir, toDoom: doom}
	f.locker = distlock.New(redislock.New(c), distlock.Config{})
	t.Cleanup(func() { _ = f.locker.Close() })
	for _, key := range keep {
		f.kept = append(f.kept, f.take(key))
	}
	master.Replicated(t)
	return f
}

// take acquires a lock. The client may ask the former master first, until it learns of its
// successor.
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

// cut acquires the doomed locks, while the heir is stopped.
func (f *failover) cut() {
	f.t.Helper()
	f.master.CutOff(f.t, f.heir)
	for _, key := range f.toDoom[1:] {
		f.doomed = append(f.doomed, f.take(key))
	}
	f.doomedOne = testkit.MustAcquire(f.t, f.locker, f.toDoom[0], distlock.Opts{KeyTimeout: 40 * time.Second})
}

// killMaster lets the heir take over without the doomed locks, while the load goes on.
func (f *failover) killMaster(l *load) {
	f.t.Helper()
	f.cut()
	l.reg.SetLenient(true)
	f.master.Kill()
	f.heir.Cont()
	testkit.Eventually(f.t, "the heir takes over", func() bool { return f.heir.IsMaster(f.t) })
	f.check()
}

// check is called after the heir has taken over. Every holder learns the fate of its
// lock from a renewal, and a release gives the same answer.
func (f *failover) check() {
	t := f.t
	t.Helper()
	for _, grants := range [][]driver.Grant{f.kept, f.doomed} {
		testkit.Eventually(t, "renewals are answered again", func() bool {
			return !slices.ContainsFunc(driver.RenewAll(t.Context(), f.b, grants), func(r driver.RenewResult) bool { return r.Status == driver.Unknown })
		})
	}
	renewed(t, driver.RenewAll(t.Context(), f.b, f.kept), all(driver.Renewed))
	renewed(t, driver.RenewAll(t.Context(), f.b, f.doomed), all(driver.Lost))

	// Its lease would last longer than this waits: the renewal reports the loss.
	over := f.doomedOne.Until()
	<-f.doomedOne.Context().Done()
	if err := f.doomedOne.Check(); !errors.Is(err, driver.ErrLost) || !time.Now().Before(over) {
		t.Errorf("the doomed lease: %v, at %v, with a deadline of %v", err, time.Now(), over)
	}
	matches(t, "release of the doomed lease", f.doomedOne.Release(t.Context()), driver.ErrLost)

	// Another holder gets a lost lock, with a higher token.
	next := f.take(f.doomed[0].Key)
	if next.Token <= f.doomed[0].LastToken {
		t.Errorf("token %d after %d", next.Token, f.doomed[0].LastToken)
	}
	for _, g := range f.doomed {
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
