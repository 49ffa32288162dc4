package redislock_test

import (
	"errors"
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
	if err != nil {
		f.t.Fatal(err)
	}
	return g
}

// cut acquires the doomed locks, while the heir is stopped.
func (f *failover) cut() {
	f.t.Helper()
	f.master.CutOff(f.t, f.heir)
	for _, key := range f.toDoom[1:] {
		f.doomed = append(f.doomed, f.take(key))
	}
	var err error
	f.doomedOne, err = f.locker.Acquire(f.t.Context(), f.toDoom[0], distlock.Opts{KeyTimeout: 40 * time.Second})
	if err != nil {
		f.t.Fatal(err)
	}
}

// check is called after the heir has taken over. Every holder learns the fate of its
// lock from a renewal, and a release gives the same answer.
func (f *failover) check() {
	f.t.Helper()
	renewals := func(grants []driver.Grant) (known bool) {
		for _, r := range driver.RenewAll(f.t.Context(), f.b, grants) {
			if r.Status == driver.Unknown {
				return false
			}
		}
		return true
	}
	testkit.Eventually(f.t, "renewals are answered again", func() bool { return renewals(f.kept) && renewals(f.doomed) })
	renewed(f.t, driver.RenewAll(f.t.Context(), f.b, f.kept), all(driver.Renewed))
	renewed(f.t, driver.RenewAll(f.t.Context(), f.b, f.doomed), all(driver.Lost))

	// Its lease would last longer than this waits: the renewal reports the loss.
	over := f.doomedOne.Until()
	<-f.doomedOne.Context().Done()
	if err := f.doomedOne.Check(); !errors.Is(err, driver.ErrLost) || !time.Now().Before(over) {
		f.t.Errorf("the doomed lease: %v, at %v, with a deadline of %v", err, time.Now(), over)
	}

	for i, g := range f.doomed {
		if i == 0 { // another holder gets a lost lock, with a higher token
			next := f.take(g.Key)
			if next.Token <= g.LastToken {
				f.t.Errorf("token %d after %d", next.Token, g.LastToken)
			}
			if err := f.b.Release(f.t.Context(), g); !errors.Is(err, driver.ErrLost) {
				f.t.Errorf("release of a lock that another has: %v", err)
			}
			if err := f.b.Release(f.t.Context(), next); err != nil {
				f.t.Errorf("release by the next: %v", err)
			}
			continue
		}
		if err := f.b.Release(f.t.Context(), g); !errors.Is(err, driver.ErrLost) {
			f.t.Errorf("release of a lock that is lost: %v", err)
		}
	}
	for _, g := range f.kept {
		if err := f.b.Release(f.t.Context(), g); err != nil {
			f.t.Errorf("release of a lock that was kept: %v", err)
		}
	}
	if err := f.doomedOne.Release(f.t.Context()); !errors.Is(err, driver.ErrLost) {
		f.t.Errorf("release of the doomed lease: %v", err)
	}
	if err := f.locker.Close(); err != nil {
		f.t.Error(err)
	}
}

// settle ends the noise, after the last old lease has ended or was renewed.
func settle(t *testing.T, l *load) {
	t.Helper()
	end := time.Now().Add(l.opts.KeyTimeout)
	l.goOn(50)
	testkit.Eventually(t, "the leases from before are over", func() bool { return time.Now().After(end) })
	l.reg.SetLenient(false)
}
