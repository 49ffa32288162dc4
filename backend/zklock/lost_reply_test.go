package zklock_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The replies to a renewal and to a release are lost.
//
// Row 8 (zklock): the lease continues, and the release succeeds in the background and
// does not touch the node of the next holder. Fails if a renewal without an answer
// counts as Lost.
func TestLostRenewalAndRelease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		other := newVirtual(t, v.server, zklock.Config{SessionTimeout: 5 * time.Minute})
		g := testkit.MustTry(t, v, testkit.NewRequest("key"))
		w := testkit.StartWaiter(t, other, testkit.NewRequest("key"))
		synctest.Wait()
		v.network.Deafen()
		if got := testkit.Renewed(t, v, g); got.Status != driver.Unknown || got.Err == nil {
			t.Errorf("renewed without a reply: %v", got)
		}
		v.network.Kill()
		synctest.Wait()
		testkit.Eventually(t, "it is renewed", func() bool { return testkit.Renewed(t, v, g).Status == driver.Renewed })
		w.MustWait(t)

		v.network.Deafen()
		if err := v.Release(t.Context(), g); err == nil || errors.Is(err, driver.ErrLost) {
			t.Errorf("Release without a reply: %v", err)
		}
		next := w.Served(t) // so the server has released the key
		if next.Token <= g.Token {
			t.Errorf("token %d after token %d", next.Token, g.Token)
		}
		v.network.Kill()
		testkit.ReleaseRepeatedly(t, v, g)
		time.Sleep(10 * time.Second) // the deletion is repeated in the background
		testkit.MustRenew(t, other, next)
		testkit.MustRelease(t, other, next)
		v.mustBeEmpty(t, "key")
	})
}

// The reply to the creation of a node is lost.
//
// Row 8 (zklock): the owner finds its node again and has the key. Fails if the Backend
// does not look for a node after the reply to its creation was lost.
// Row 12 (zklock): the owner finds its node again. Fails if the Backend does not look
// for a node after the reply to its creation was lost.
func TestLostCreateReply(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		mustWork(t, v.Backend, "key") // creates the key's node
		r := testkit.NewRequest("key")
		v.tryInDoubt(t, r, muted)
		node := v.server.Children(parentOf("key"))
		g := testkit.TryRepeatedly(t, v, r)
		if again := v.server.Children(parentOf("key")); len(node) != 1 || !slices.Equal(node, again) {
			t.Errorf("at first %q, then %q", node, again)
		}
		testkit.MustRelease(t, v, g)
		v.mustBeEmpty(t, "key")
	})
}

// The connection of a holder and of a waiter is cut for longer than the session lasts.
//
// Row 9 (zklock): the holder's context is cancelled while no server answers, before
// another owner gets the key. Fails if a lease may be longer than the session.
// Row 12 (zklock): the holder's context is cancelled before another owner gets the key,
// and both work again in a new session, the waiter at once. Fails if a lease may be
// longer than the session.
func TestCutForLonger(t *testing.T) {
	reconnects(t)
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		other := newVirtual(t, v.server, zklock.Config{SessionTimeout: 5 * time.Minute})
		locker := testkit.NewLocker(t, v, distlock.Config{})
		lease := testkit.MustAcquire(t, locker, "cut", distlock.Opts{KeyTimeout: time.Minute})
		held := testkit.MustTry(t, other, testkit.NewRequest("cut-too"))
		w := testkit.StartWaiter(t, v, testkit.NewRequest("cut-too"))
		next := testkit.StartWaiter(t, other, testkit.NewRequest("cut"))
		synctest.Wait()

		v.network.Hang(true)
		<-lease.Context().Done()
		synctest.Wait()
		next.MustWait(t)
		if g := next.Served(t); g.Token <= lease.Token() {
			t.Errorf("token %d after token %d", g.Token, lease.Token())
		}
		w.MustWait(t)

		testkit.MustRelease(t, other, held)
		v.network.Hang(false)
		v.network.CloseCut()
		start := time.Now()
		testkit.MustRelease(t, v, w.Served(t))
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("served %v after the connection", d)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, driver.ErrLost) {
			t.Errorf("Release of the lost lease: %v", err)
		}
		testkit.MustRelease(t, other, next.Got)
		mustWork(t, v.Backend, "cut")
		v.mustBeEmpty(t, "cut")
		v.mustBeEmpty(t, "cut-too")
	})
}
