package redlock_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Two nodes lose the replies to an attempt, which is rolled back with a tombstone
// there. When nothing is in flight any more, the owner tries again: the tombstone does
// not refuse it, because a Locker uses one owner for all its attempts.
func TestVirtualTriesAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b, networks := spoilt(t, f, 300*time.Millisecond)
		f.warm(t, b)
		r := request()
		for range 3 {
			for _, n := range networks[:2] {
				n.At(spoilnet.Deafen, callOf(redlock.AcquireHash))
			}
			mustFail(t, testkit.ErrorOf(b.TryAcquire(t.Context(), r)))
			f.settled(t, b)
		}
		testkit.MustRelease(t, b, testkit.MustTry(t, b, r))
		f.settled(t, b)
		synctest.Wait()
		if n := b.Owners(); n != 0 {
			t.Errorf("%d owners are known", n)
		}
	})
}

// An attempt is delayed in the network and arrives after its owner has released: it is
// refused, and another owner can have the key.
func TestVirtualOvertakenAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b, networks := spoilt(t, f, 2*time.Second)
		f.warm(t, b)
		networks[0].At(spoilnet.Hold, callOf(redlock.AcquireHash))
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request())) // on the other two
		time.Sleep(3 * time.Second)                                 // the first node has the tombstone
		deliver(t, networks[0])
		synctest.Wait()
		f.mustHave(t, "", 3)
	})
}

// The rollback of a failed attempt is delayed in the network and arrives when the same
// owner has the lock by its next attempt, which it must not end.
func TestVirtualOvertakenTakeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b, networks := spoilt(t, f, 2*time.Second)
		f.warm(t, b)

		f.put(t, "another", time.Minute, 1, 2)
		r := request()
		networks[0].At(spoilnet.Hold, callOf(redlock.ReleaseHash))
		mustBeHeld(t, testkit.ErrorOf(b.TryAcquire(t.Context(), r)))
		testkit.Eventually(t, "it was tried", func() bool { return b.PendingReleases() == 1 })
		quiet(t, b)
		f.del(t, lockKey, 1, 2)
		g := f.everywhere(t, b, r)

		deliver(t, networks[0])
		synctest.Wait()
		f.mustHave(t, r.Owner, 3)
		testkit.MustRelease(t, b, g)
		f.allFree(t)
	})
}

// A lock is restored on a node without it, and the request is delayed in the network.
// It arrives when the owner has released: the node refuses it.
func TestVirtualOvertakenRestoration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b, networks := spoilt(t, f, 2*time.Second)
		g := f.everywhere(t, b, request())
		for _, delayed := range []bool{false, true} { // the node has the script from the first time
			f.del(t, lockKey, 0)
			if delayed {
				networks[0].At(spoilnet.Hold, callOf(redlock.RestoreHash))
			}
			testkit.MustRenew(t, b, g)
			synctest.Wait() // until the restoration is under way
		}
		testkit.MustRelease(t, b, g)
		time.Sleep(3 * time.Second) // the node has not answered, and then the release
		deliver(t, networks[0])
		synctest.Wait()
		f.mustHave(t, "", 3)
	})
}

// deliver sends the delayed data. An owner with a quorum does not wait for it to be
// written.
func deliver(t *testing.T, n *spoilnet.Network) {
	t.Helper()
	testkit.Eventually(t, "something is kept back", func() bool { return n.Held() == 1 })
	if err := n.Deliver(); err != nil {
		t.Fatal(err)
	}
}

// callOf matches a call of a script, for a network that delays it.
func callOf(sha string) spoilnet.Match {
	return func(written []byte) bool { return bytes.Contains(written, []byte(sha)) }
}
