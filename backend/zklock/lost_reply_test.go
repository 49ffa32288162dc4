package zklock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

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
