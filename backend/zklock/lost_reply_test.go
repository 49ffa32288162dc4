package zklock_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestLostRenewalAndRelease: the replies to a renewal and to a release are lost. The
// lease continues. The release continues in the background and does not touch the node of
// the next holder.
//
// Row 8 (zklock): the lease continues, and the release succeeds in the background and does
// not touch the node of the next holder. Fails if a renewal without an answer counts as
// Lost.
func TestLostRenewalAndRelease(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr, zklock.WithOpTimeout(shortTimeout))
	other := newBackend(t, []string{addr})
	const key = "lost-release-reply"
	g := testkit.TryRepeatedly(t, b, testkit.NewRequest(key))
	w := testkit.StartWaiter(t, other, testkit.NewRequest(key))
	testkit.Eventually(t, "it is in the queue", func() bool { return len(children(t, admin, parentOf(key))) == 2 })

	n.Deafen()
	if got := testkit.Renewed(t, b, g); got.Status != driver.Unknown || got.Err == nil {
		t.Errorf("renewed without a reply: %v", got)
	}
	n.Kill()
	testkit.Eventually(t, "it is renewed", func() bool {
		got := testkit.Renewed(t, b, g)
		if got.Status == driver.Lost {
			t.Fatal("the renewal of a held lock is Lost")
		}
		return got.Status == driver.Renewed
	})
	w.MustWait(t)

	name := []byte(byNumber(children(t, admin, parentOf(key)))[0])
	n.DeafenAt(func(p []byte) bool { return bytes.Contains(p, name) })
	if err := b.Release(context.Background(), g); err == nil || errors.Is(err, driver.ErrLost) {
		t.Errorf("Release without a reply: %v", err)
	}
	next := w.Served(t) // so the server has released the key
	if next.Token <= g.Token {
		t.Errorf("token %d after token %d", next.Token, g.Token)
	}
	n.Kill()
	testkit.ReleaseRepeatedly(t, b, g)
	mustWork(t, b, "of "+key)
	if got := testkit.Renewed(t, other, next); got.Status != driver.Renewed {
		t.Errorf("the next holder's lock after the release was repeated: %v", got)
	}
	testkit.MustRelease(t, other, next)
	if names := children(t, admin, parentOf(key)); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}

// creates matches the creation of a lock's node.
func creates(p []byte) bool { return bytes.Contains(p, []byte("-lock-")) }

// TestLostCreateReply: the reply to the creation of a node is lost. When the owner
// tries again, it gets the key with that node and does not wait for itself.
//
// Row 8 (zklock): the owner finds its node again and has the key. Fails if the Backend
// does not look for a node after the reply to its creation was lost.
// Row 12 (zklock): the owner finds its node again. Fails if the Backend does not look for
// a node after the reply to its creation was lost.
func TestLostCreateReply(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr)
	const key = "lost-create"
	keepParent(t, admin, key)
	testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest(key)))

	n.DeafenAt(creates)
	r := testkit.NewRequest(key)
	result := make(chan error, 1)
	go func() {
		_, err := b.TryAcquire(context.Background(), r)
		result <- err
	}()
	testkit.Eventually(t, "the node is there", func() bool { return n.Deaf() == 1 && len(children(t, admin, parentOf(key))) == 1 })
	n.Kill()
	if err := <-result; err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("TryAcquire without a reply: %v", err)
	}
	node := children(t, admin, parentOf(key))
	g := testkit.MustTry(t, b, r)
	if again := children(t, admin, parentOf(key)); len(again) != 1 || again[0] != node[0] {
		t.Errorf("at first %q, then %q", node, again)
	}
	testkit.MustRelease(t, b, g)
	if left := children(t, admin, parentOf(key)); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}
