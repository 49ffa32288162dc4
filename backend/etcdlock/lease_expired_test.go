package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/stall"
	"github.com/distlock-go/distlock/internal/testmode"
)

// TestRow28LeaseExpired: the connection of a holder and of a waiter is cut for longer than
// their lease of etcd lasts.
//
// Row 28 (etcdlock): the holder's context is cancelled before another owner gets the key,
// and both work again with a new lease of etcd. Fails if leases are not limited to half of
// the session's TTL.
func TestRow28LeaseExpired(t *testing.T) {
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
	held := mustAcquire(t, other, request("cut-too"))
	w := startWaiter(t, cut, admin, request("cut-too"))
	next := startWaiter(t, other, admin, request("cut"))
	place := placeOf(t, admin, w.request)

	n.Hang(true)
	served := make(chan time.Time, 1)
	go func() {
		<-next.done
		served <- time.Now()
	}()
	mustEnd(t, lease)
	cancelled := time.Now()
	g := next.served(t)
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
	w.mustWait(t)

	n.Hang(false)
	n.CloseCut()
	eventually(t, patience, "the waiter is in the queue again", func() bool {
		again := placeOf(t, admin, w.request)
		return again != "" && again != place
	})
	w.mustWait(t)
	mustRelease(t, other, held)
	mustRelease(t, other, g)
	releaseRepeatedly(t, cut, w.served(t))
	if err := lease.Release(context.Background()); !errors.Is(err, driver.ErrLost) {
		t.Errorf("Release of the lost lease: %v", err)
	}
	if err := locker.Do(context.Background(), "cut", distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
		t.Errorf("Do with the new lease of etcd: %v", err)
	}
	for _, key := range []string{"cut", "cut-too"} {
		eventually(t, patience, "no place is left", func() bool { return len(places(t, admin, key)) == 0 })
	}
}
