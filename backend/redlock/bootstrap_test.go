package redlock_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The delayed restart of Redlock: a holder has three of five nodes, one of them
// restarts empty, and with the other two it would grant the lock to a second holder.
//
// Row 23 (redlock): a node that restarts empty, or with its data of a moment ago, does
// not vote for the time of a lease, so no lock has two holders. Fails if such a node is
// trusted at once.
func TestEmptyNodeDoesNotVote(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	for name, lose := range map[string]func(*fleet){
		"restart":    func(f *fleet) { f.restart(2) },
		"saved data": func(f *fleet) { f.restart(2) },
		"flushall":   func(f *fleet) { f.admins[2].FlushAll(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			f := realFleet(t, 5)
			const lease = 3 * time.Second
			b, other := f.backend(t, redlock.Config{MaxLease: lease}), f.backend(t, redlock.Config{MaxLease: lease})
			_ = other.Release(t.Context(), f.everywhere(t, other, shorter(request(), lease))) // it may have ended
			quiet(t, other)
			if name == "saved data" {
				if err := f.admins[2].Save(t.Context()).Err(); err != nil { // a restart loads it
					t.Fatal(err)
				}
			}

			r := shorter(request(), lease)
			g := f.everywhere(t, b, r)
			f.del(t, lockKey, 3, 4) // as if these nodes had been down
			lose(f)
			if n := f.admins[2].Exists(t.Context(), redlock.MarkerKey).Val(); (n == 1) != (name == "saved data") {
				t.Fatalf("the node has %d markers", n)
			}

			for {
				second, err := other.TryAcquire(t.Context(), shorter(request(), lease))
				if err == nil {
					if d := time.Since(g.Sent); d < g.TTL {
						t.Fatalf("%v after the request of the first, a second has the lock", d)
					}
					_ = other.Release(t.Context(), second) // it may have ended
					break
				}
				if errors.Is(err, driver.ErrNotAcquired) {
					mustBeHeld(t, err)
				}
				if time.Since(g.Sent) > 10*lease {
					t.Fatalf("it is never granted: %v", err)
				}
				pause(other)
			}
		})
	}
}

// Minorities restart empty repeatedly, with a longest lease in between, while a holder
// renews: it never loses the lock, and no other owner gets it.
//
// Row 23 (redlock): a holder survives the restart of one node after another. Fails if a
// renewal does not restore the lock where it is missing.
func TestRollingRestart(t *testing.T) {
	testmode.Long(t)
	f := realFleet(t, 3)
	const lease = 4 * time.Second // longer than a restart on a busy machine
	b, other := f.backend(t, redlock.Config{MaxLease: lease}), f.backend(t, redlock.Config{MaxLease: lease})
	g := f.everywhere(t, b, shorter(request(), lease))
	last := time.Now()
	renew := func() {
		sent := time.Now()
		got := testkit.Renewed(t, b, g)
		switch {
		case got == nil:
			last = sent
		case await.InDoubt(got) && time.Since(sent) > lease/5:
			// Almost the lease of a node: the machine stood still.
		case time.Since(last) < lease:
			t.Fatalf("%v, %v after the last renewal", got, time.Since(last))
		default:
			t.Skip("the machine was too slow to keep a lease alive")
		}
	}
	for i := range 3 {
		f.restart(i)
		testkit.Eventually(t, "the node that came back has the lock again", func() bool {
			renew()
			if second, err := other.TryAcquire(t.Context(), shorter(request(), lease)); err == nil {
				if time.Since(last) < lease {
					t.Fatal("two have it")
				}
				_ = other.Release(t.Context(), second) // it may have ended
			}
			return f.have(lockKey, g.Owner) == 3
		})
	}
	_ = b.Release(t.Context(), g) // its lease is short
}

// New nodes do not grant locks for the time of a longest lease, and grant them
// afterwards.
func TestVirtualNewFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 5)
		b := redlock.Open(f.clients(), redlock.Config{})
		defer b.Close()
		start := time.Now()
		_, err := b.TryAcquire(t.Context(), request())
		mustFail(t, err)
		for ; err != nil; _, err = b.TryAcquire(t.Context(), request()) {
			mustFail(t, err)
			synctest.Wait()
			f.mustHave(t, "", 5)
			time.Sleep(100 * time.Millisecond)
		}
		if d := time.Since(start) - redlock.NodeTTL(redlock.MaxLease); d < 0 || d > 200*time.Millisecond {
			t.Errorf("granted %v after the longest lease", d)
		}
	})
}

// Two processes start together and both trust new nodes: the one that finds the other
// half-way waits for it, and does not make the other nodes untrusted by using them.
func TestVirtualTrustedStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 5)
		mark := func(nodes ...int) {
			for _, i := range nodes {
				f.admins[i].Set(t.Context(), redlock.MarkerKey, "- 0", 0)
			}
		}
		mark(0, 1)
		time.AfterFunc(100*time.Millisecond, func() { mark(2, 3, 4) })
		b := f.backend(t)
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request()))
		synctest.Wait()
	})
}

// TrustedStart trusts nodes only if all of them are new.
func TestVirtualTrustedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b := f.backend(t)
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request()))
		synctest.Wait()

		// Two of three nodes restart empty, and a process starts that trusts new nodes.
		f.admins[0].FlushAll(t.Context())
		f.admins[1].FlushAll(t.Context())
		mustFail(t, testkit.ErrorOf(f.backend(t).TryAcquire(t.Context(), request())))
		synctest.Wait()
		// A running process does not trust them again.
		mustFail(t, testkit.ErrorOf(b.TryAcquire(t.Context(), request())))
	})
	synctest.Test(t, func(t *testing.T) { // a node that does not answer may have data
		f := virtualFleet(t, 3)
		cs := f.clients()
		cs[2] = f.client(2, func(o *redis.Options) {
			o.Dialer = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
		})
		mustFail(t, testkit.ErrorOf(newBackend(t, cs).TryAcquire(t.Context(), request())))
	})
}

// A server's clock that was set back shortens the age of its data, but not without end.
func TestVirtualClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b := f.backend(t)
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request()))
		synctest.Wait() // also on the third node
		for _, c := range f.admins[:2] {
			c.Set(t.Context(), redlock.MarkerKey, "- 9000000000000000", 0)
		}
		mustFail(t, testkit.ErrorOf(b.TryAcquire(t.Context(), request())))
		time.Sleep(redlock.NodeTTL(redlock.MaxLease))
		testkit.MustTry(t, b, request())
	})
}

func shorter(r driver.Request, ttl time.Duration) driver.Request {
	r.TTL = ttl
	return r
}

// pause waits until earlier requests to the nodes have been answered.
func pause(b *redlock.Backend) {
	deadline := time.Now().Add(time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		<-tick.C
		if b.InFlight() == 0 || time.Now().After(deadline) {
			return
		}
	}
}
