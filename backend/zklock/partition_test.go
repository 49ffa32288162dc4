package zklock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/stall"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestCutForLonger: the connection of a holder and of a waiter is cut for longer than
// the session lasts. The holder's context is cancelled before the server gives the key to
// another owner. Both work again in a new session, and nothing of the old session is left.
//
// Row 12 (zklock): the holder's context is cancelled before another owner gets the key, and
// both work again in a new session. Fails if a lease may be longer than the session.
func TestCutForLonger(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	cut, network := overNetwork(t, addr, zklock.WithSessionTimeout(6*time.Second), zklock.WithOpTimeout(5*time.Second))
	other := newBackend(t, []string{addr})
	locker := distlock.New(cut, distlock.Config{})
	defer locker.Close()

	stalls := stall.Start(t)
	lease, err := locker.Acquire(context.Background(), "cut", distlock.Opts{KeyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	held := testkit.MustTry(t, other, testkit.NewRequest("cut-too"))
	w := testkit.StartWaiter(t, cut, testkit.NewRequest("cut-too"))
	next := testkit.StartWaiter(t, other, testkit.NewRequest("cut"))
	testkit.Eventually(t, "two queues", func() bool {
		return len(children(t, admin, parentOf("cut"))) == 2 && len(children(t, admin, parentOf("cut-too"))) == 2
	})
	node := byNumber(children(t, admin, parentOf("cut-too")))[1]
	watched(t, parentOf("cut-too")+"/")
	drain(t, cut) // it knows that it watches

	network.Hang(true)
	served := make(chan time.Time, 1)
	go func() {
		<-next.Done
		served <- time.Now()
	}()
	<-lease.Context().Done()
	cancelled := time.Now()
	g := next.Served(t)
	margin := (<-served).Sub(cancelled)
	switch late := cancelled.Sub(lease.Until()); {
	case margin > 0:
		t.Logf("the holder's context was cancelled %v before another had the key", margin)
	case stalls.Excuses(late):
		t.Logf("this process was suspended: the holder's context was cancelled %v late", late)
	default:
		t.Errorf("the holder's context was cancelled %v after another had the key", -margin)
	}
	if !errors.Is(context.Cause(lease.Context()), driver.ErrLost) {
		t.Errorf("cancelled because of %v", context.Cause(lease.Context()))
	}
	if g.Token <= lease.Token() {
		t.Errorf("token %d after token %d", g.Token, lease.Token())
	}
	w.MustWait(t)

	network.Hang(false)
	network.CloseCut()
	testkit.Eventually(t, "the waiter is in the queue again", func() bool {
		names := children(t, admin, parentOf("cut-too"))
		return len(names) == 2 && !slices.Contains(names, node)
	})
	w.MustWait(t)
	testkit.MustRelease(t, other, held)
	testkit.MustRelease(t, cut, w.Served(t))
	testkit.MustRelease(t, other, g)
	if err := lease.Release(context.Background()); !errors.Is(err, driver.ErrLost) {
		t.Errorf("Release of the lost lease: %v", err)
	}
	if err := locker.Do(context.Background(), "cut", distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
		t.Errorf("Do in the new session: %v", err)
	}
	for _, key := range []string{"cut", "cut-too"} {
		if names := children(t, admin, parentOf(key)); len(names) != 0 {
			t.Errorf("left behind: %q", names)
		}
	}
}
