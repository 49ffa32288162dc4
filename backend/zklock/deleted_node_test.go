package zklock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestOrphan: a node was granted, or the creation of a reader's is in doubt, and the session
// ends. The node that the server still knows would keep the owner out, or writers.
func TestOrphan(t *testing.T) {
	for mode, begin := range map[driver.Mode]func(t *testing.T, v *virtual, r driver.Request){
		driver.Exclusive: func(t *testing.T, v *virtual, r driver.Request) { testkit.MustTry(t, v, r) },
		driver.Shared:    func(t *testing.T, v *virtual, r driver.Request) { v.tryInDoubt(t, r, muted) },
	} {
		t.Run(mode.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				mustWork(t, v.Backend, "key") // creates the key's node
				r := testkit.NewRequest("key")
				r.Mode = mode
				begin(t, v, r)
				v.newSession()
				testkit.TryRepeatedly(t, v, r)
				if left := v.server.Children(parentOf("key")); len(left) != 1 {
					t.Errorf("there should be one node: %q", left)
				}
			})
		})
	}
}

// TestDeletedNodeIsNotFound: the deletion of a node beside a stranger has no answer, twice.
// The node is not the owner's any more.
func TestDeletedNodeIsNotFound(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		r := testkit.NewRequest("key")
		testkit.MustTry(t, v, r)
		stranger := v.server.Add(parentOf("key") + "/R-")
		v.server.On(opDelete, func(string) fate { return dropped })
		for range 2 {
			if err := enqueue(t, v, r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
				t.Fatalf("Enqueue without an answer: %v", err)
			}
			v.network.Kill() // the calls that are in flight end
		}
		v.server.Delete(stranger)
		v.server.ServeAll()
		g := testkit.TryRepeatedly(t, v, r)
		if all := v.server.Created(parentOf("key")); len(all) != 3 {
			t.Errorf("created %q", all)
		}
		time.Sleep(5 * time.Second)
		testkit.MustRenew(t, v, g)
	})
}

// TestNodeDeleted: an operator deletes nodes. A waiter without a node does not get the key but
// joins the queue again, and so does a holder that asks again, for longer than its lease would
// have lasted.
func TestNodeDeleted(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		other, r := newVirtual(t, v.server), testkit.NewRequest("key")
		g := testkit.MustTry(t, v, r)
		queue := func(from *virtual, r driver.Request) *testkit.Waiter {
			w := testkit.StartWaiter(t, from, r, testkit.Looks{Every: time.Second})
			time.Sleep(time.Second)
			return w
		}
		first := queue(v, testkit.NewRequest("key"))
		node := v.server.Created(parentOf("key"))[1]
		second := queue(other, testkit.NewRequest("key"))

		// The first waiter's node: neither waiter gets the key, and the first is the
		// last now.
		v.server.Delete(node)
		time.Sleep(3 * time.Second)
		testkit.MustRenew(t, v, g)
		first.MustWait(t)
		second.MustWait(t)
		// The holder's node: the second waiter gets the key.
		v.server.Delete(v.server.Created(parentOf("key"))[0])
		next, again := second.Served(t), queue(v, r)
		last := queue(other, testkit.NewRequest("key"))
		for range 5 {
			testkit.MustRenew(t, other, next)
			time.Sleep(next.TTL / 4)
		}
		first.MustWait(t)
		testkit.MustRelease(t, other, next)
		testkit.MustRelease(t, v, first.Served(t))
		testkit.MustRelease(t, v, again.Served(t))
		testkit.MustRelease(t, other, last.Served(t))
	})
}
