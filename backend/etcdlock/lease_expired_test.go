package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/stall"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestLeaseExpired: the connection of a holder and of a waiter is cut for longer than
// their lease of etcd lasts.
//
// Row 28 (etcdlock): the holder's context is cancelled before another owner gets the key,
// and both work again with a new lease of etcd. Fails if leases are not limited to half of
// the session's TTL.
func TestLeaseExpired(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newClient(t, addr)
	cut, n := overNetwork(t, addr, etcdlock.WithSessionTTL(4*time.Second), etcdlock.WithOpTimeout(2*time.Second))
	other := newBackend(t, newClient(t, addr))
	locker := distlock.New(cut, distlock.Config{})
	defer locker.Close()
	stalls := stall.Start(t)
	lease, err := locker.Acquire(context.Background(), "cut", distlock.Opts{KeyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	held := testkit.MustTry(t, other, testkit.NewRequest("cut-too"))
	w := startWaiter(t, cut, admin, testkit.NewRequest("cut-too"))
	next := startWaiter(t, other, admin, testkit.NewRequest("cut"))
	place := placeOf(t, admin, w.Request)

	n.Hang(true)
	served := make(chan time.Time, 1)
	go func() {
		<-next.Done
		served <- time.Now()
	}()
	mustEnd(t, lease)
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
	if g.Token <= lease.Token() {
		t.Errorf("token %d after token %d", g.Token, lease.Token())
	}
	w.MustWait(t)

	n.Hang(false)
	n.CloseCut()
	testkit.Eventually(t, "the waiter is in the queue again", func() bool {
		again := placeOf(t, admin, w.Request)
		return again != "" && again != place
	})
	w.MustWait(t)
	testkit.MustRelease(t, other, held)
	testkit.MustRelease(t, other, g)
	testkit.ReleaseRepeatedly(t, cut, w.Served(t))
	if err := lease.Release(context.Background()); !errors.Is(err, driver.ErrLost) {
		t.Errorf("Release of the lost lease: %v", err)
	}
	if err := locker.Do(context.Background(), "cut", distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
		t.Errorf("Do with the new lease of etcd: %v", err)
	}
	for _, key := range []string{"cut", "cut-too"} {
		testkit.Eventually(t, "no place is left", func() bool { return len(places(t, admin, key)) == 0 })
	}
}
