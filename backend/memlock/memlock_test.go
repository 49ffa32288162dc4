package memlock_test

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ttl = 10 * time.Second

// ask returns a request of owner.
func ask(key, owner string) driver.Request {
	return driver.Request{Key: key, Owner: owner, TTL: ttl, Tokens: 1}
}

func mustBeEmpty(t *testing.T, b *memlock.Backend) {
	t.Helper()
	if keys, waiters := b.Size(); keys != 0 || waiters != 0 {
		t.Errorf("%d keys and %d waiters are left", keys, waiters)
	}
}

// TestAbandonedLeases lets leases end without a release or another request: clients
// choose the keys, and holders crash.
func TestAbandonedLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlock.New()
		const rounds, perRound = 20, 2_000
		for i := range rounds {
			for j := range perRound {
				testkit.MustTry(t, b, ask("key "+strconv.Itoa(i)+"/"+strconv.Itoa(j), "somebody"))
			}
			time.Sleep(ttl)
		}
		if keys, _ := b.Size(); keys > 4*perRound {
			t.Errorf("of %d leases that have ended, %d are left", rounds*perRound, keys)
		}
	})
}

// TestNewcomerDoesNotOvertake makes an attempt at the moment at which the lease ends,
// before the timer of the waiter has run.
func TestNewcomerDoesNotOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			b := memlock.New()
			testkit.MustTry(t, b, ask("key", "holder"))
			w := testkit.StartWaiter(t, b, ask("key", "waiter"))
			synctest.Wait()
			time.Sleep(ttl)
			if _, err := b.Enqueue(t.Context(), ask("key", "newcomer")); !errors.Is(err, driver.ErrNotAcquired) {
				t.Fatalf("the newcomer: %v", err)
			}
			w.Served(t)
		}
	})
}

// TestShorterLeaseInTheQueue sets the timer of the queue for a long lease, and then
// needs it for a short one.
func TestShorterLeaseInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlock.New()
		long := ask("key", "long")
		long.TTL = time.Hour
		g := testkit.MustTry(t, b, long)
		go func() { _, _ = testkit.Await(t.Context(), b, ask("key", "short"), testkit.Looks{}) }()
		synctest.Wait()
		last := testkit.StartWaiter(t, b, ask("key", "last"))
		synctest.Wait()
		start := time.Now()
		testkit.MustRelease(t, b, g)
		last.Served(t)
		if d := last.At.Sub(start); d != ttl {
			t.Errorf("served after %v, when the lease before was %v", d, ttl)
		}
		next, kept := testkit.StartWaiter(t, b, ask("key", "next")), last.Request.Grant()
		synctest.Wait()
		kept.TTL, kept.Retain = time.Second, true
		_ = driver.RenewAll(t.Context(), b, []driver.Grant{kept})
		next.Served(t)
		if d := next.At.Sub(start); d != ttl+time.Second {
			t.Errorf("served after %v, when the lease before was kept for a second", d)
		}
	})
}

// askFor returns a request that waits as long as it takes, in a mode or for a permit.
func askFor(owner string, mode driver.Mode, permits int) driver.Request {
	r := ask("key", owner)
	r.Mode, r.Permits = mode, permits
	return r
}

// A writer that the holders of permits keep out is told when the last lease ends.
func TestHintAmongMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlock.New()
		for i := range 2 {
			r := askFor(strconv.Itoa(i), driver.Exclusive, 2)
			r.TTL -= time.Duration(i) * time.Second
			testkit.MustTry(t, b, r)
		}
		_, err := b.TryAcquire(t.Context(), askFor("writer", driver.Exclusive, 0))
		if held, ok := errors.AsType[*driver.HeldError](err); !ok || held.RetryAfter != ttl {
			t.Errorf("%v, want %v", err, ttl)
		}
	})
}

// A grant says whether other waiters are left in the queue.
func TestContended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlock.New()
		g := testkit.MustTry(t, b, askFor("first", driver.Exclusive, 0))
		grants := make(chan driver.Grant, 4)
		for _, r := range []driver.Request{
			askFor("reader 1", driver.Shared, 0), askFor("reader 2", driver.Shared, 0),
			askFor("writer", driver.Exclusive, 0), askFor("reader 3", driver.Shared, 0),
		} {
			go func() {
				g, err := testkit.Await(t.Context(), b, r, testkit.Looks{})
				if err != nil {
					t.Error(err)
				}
				grants <- g
			}()
			synctest.Wait()
		}
		testkit.MustRelease(t, b, g)
		for i, want := range []bool{true, true, true, false} {
			g := <-grants
			if g.Contended != want {
				t.Errorf("grant %d, of %s: contended %v", i, g.Owner, g.Contended)
			}
			testkit.MustRelease(t, b, g)
		}
		mustBeEmpty(t, b)
	})
}
