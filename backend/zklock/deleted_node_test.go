package zklock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestOwnOrphan: an owner does not wait for its own node from a session that is dead
// and that the server still knows.
func TestOwnOrphan(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		mustWork(t, v.Backend, "key") // creates the key's node
		r := testkit.NewRequest("key")
		v.server.Add(parentOf("key") + "/_c_" + r.Owner + "-lock-")
		g := testkit.MustTry(t, v, r)
		if left := v.server.Children(parentOf("key")); len(left) != 1 {
			t.Errorf("there should be one node: %q", left)
		}
		testkit.MustRelease(t, v, g)
	})
}

// TestOrphanOfAReader: the creation of a reader's node is in doubt, and the session ends. The
// node that the server still knows would keep writers out.
func TestOrphanOfAReader(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		mustWork(t, v.Backend, "key") // creates the key's node
		r := testkit.NewRequest("key")
		r.Mode = driver.Shared
		v.tryInDoubt(t, r, muted)
		v.newSession()
		testkit.TryRepeatedly(t, v, r)
		if left := v.server.Children(parentOf("key")); len(left) != 1 {
			t.Errorf("there should be one node: %q", left)
		}
	})
}

// TestDeletedNodeIsNotFound: the deletion of a node beside a stranger has no answer, and the
// creation of the owner's next node is in doubt. The first node is not the owner's any more.
func TestDeletedNodeIsNotFound(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		r := testkit.NewRequest("key")
		testkit.MustTry(t, v, r)
		stranger := v.server.Add(parentOf("key") + "/R-")
		v.server.On(opDelete, func(string) fate { return dropped })
		for _, creation := range []fate{served, muted, served} {
			v.server.On(opCreate, func(string) fate { return creation })
			if err := enqueue(t, v, r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
				t.Fatalf("Enqueue without an answer: %v", err)
			}
			v.network.Kill() // the calls that are in flight end
			if creation == served {
				v.server.Delete(stranger)
			}
		}
		v.server.ServeAll()
		g := testkit.TryRepeatedly(t, v, r)
		time.Sleep(5 * time.Second)
		testkit.MustRenew(t, v, g)
	})
}

// TestPlaceOutlivesALostLease: the node of a holder is deleted, another owner has the key, and
// the first one waits for it for longer than its lease would have lasted.
func TestPlaceOutlivesALostLease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		other, r := newVirtual(t, v.server), testkit.NewRequest("key")
		testkit.MustTry(t, v, r)
		v.server.Delete(v.server.Children(parentOf("key"))[0])
		g := testkit.MustTry(t, other, testkit.NewRequest("key"))
		first := testkit.StartWaiter(t, v, r)
		synctest.Wait()
		last := testkit.StartWaiter(t, other, testkit.NewRequest("key"))
		for range 5 {
			time.Sleep(g.TTL / 4)
			testkit.MustRenew(t, other, g)
		}
		testkit.MustRelease(t, other, g)
		testkit.MustRelease(t, v, first.Served(t))
		testkit.MustRelease(t, other, last.Served(t))
	})
}

// TestNodeDeleted: an operator deletes nodes. The renewal of a holder without a node is
// Lost, and a waiter without a node does not get the key but joins the queue again.
func TestNodeDeleted(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		other := newVirtual(t, v.server)
		g := testkit.MustTry(t, v, testkit.NewRequest("key"))
		queue := func(from *virtual) *testkit.Waiter {
			w := testkit.StartWaiter(t, from, testkit.NewRequest("key"), testkit.Looks{Every: time.Second})
			time.Sleep(time.Second)
			return w
		}
		first := queue(v)
		node := v.server.Created(parentOf("key"))[1]
		second := queue(other)

		// The first waiter's node: neither waiter gets the key, and the first is the
		// last now.
		v.server.Delete(node)
		time.Sleep(3 * time.Second)
		testkit.MustRenew(t, v, g)
		first.MustWait(t)
		second.MustWait(t)
		// The holder's node: the second waiter gets the key.
		v.server.Delete(v.server.Created(parentOf("key"))[0])
		next := second.Served(t)
		if s := testkit.Renewed(t, v, g); !errors.Is(s, driver.ErrLost) {
			t.Errorf("the holder without a node is %v", s)
		}
		if err := v.Release(t.Context(), g); !errors.Is(err, driver.ErrLost) {
			t.Errorf("Release by the holder without a node: %v", err)
		}
		first.MustWait(t)
		testkit.MustRelease(t, other, next)
		testkit.MustRelease(t, v, first.Served(t))
	})
}
