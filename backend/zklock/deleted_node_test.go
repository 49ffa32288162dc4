package zklock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestOwnOrphan: an owner does not wait for its own node from a session that is dead and
// that the server still knows.
func TestOwnOrphan(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b := newBackend(t, []string{addr})
	const key = "orphan"
	keepParent(t, admin, key)
	r := testkit.NewRequest(key)
	plant(t, admin, parentOf(key)+"/_c_"+r.Owner+"-lock-", zk.FlagEphemeralSequential)
	g := testkit.MustTry(t, b, r)
	if names := children(t, admin, parentOf(key)); len(names) != 1 {
		t.Errorf("there should be one node: %q", names)
	}
	testkit.MustRelease(t, b, g)
}

// TestNodeDeleted: an operator deletes nodes. The renewal of a holder without a node is
// Lost, and a waiter without a node does not get the key but joins the queue again.
func TestNodeDeleted(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, other := newBackend(t, []string{addr}), newBackend(t, []string{addr})
	const key = "deleted"
	g := testkit.MustTry(t, b, testkit.NewRequest(key))
	first := testkit.StartWaiter(t, b, testkit.NewRequest(key))
	queued(t, admin, key, 2)
	second := testkit.StartWaiter(t, other, testkit.NewRequest(key))
	queued(t, admin, key, 3)
	names := children(t, admin, parentOf(key))

	// The first waiter's node: neither waiter gets the key.
	if err := admin.Delete(parentOf(key)+"/"+names[1], -1); err != nil {
		t.Fatal(err)
	}
	testkit.MustRenew(t, b, g)
	first.MustWait(t)
	second.MustWait(t)
	// The holder's node: the second waiter gets the key.
	if err := admin.Delete(parentOf(key)+"/"+names[0], -1); err != nil {
		t.Fatal(err)
	}
	g2 := second.Served(t)
	if s := testkit.Renewed(t, b, g); s.Status != driver.Lost {
		t.Errorf("the holder without a node is %v", s)
	}
	if err := b.Release(context.Background(), g); !errors.Is(err, driver.ErrLost) {
		t.Errorf("Release by the holder without a node: %v", err)
	}
	first.MustWait(t)
	testkit.MustRelease(t, other, g2)
	first.Cancel()
	<-first.Done
	_ = b.Release(context.Background(), first.Request.Grant())
	testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest(key)))
}

// TestOverflow: calls fail when the sequence numbers are used up.
func TestOverflow(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b := newBackend(t, []string{addr})
	const key = "overflow"
	keepParent(t, admin, key)
	plant(t, admin, parentOf(key)+"/_c_9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11-lock--2147483648", zk.FlagEphemeral)
	r := testkit.NewRequest(key)
	if _, err := b.TryAcquire(context.Background(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("TryAcquire: %v", err)
	}
	if _, err := b.Enqueue(context.Background(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("Enqueue: %v", err)
	}
}
