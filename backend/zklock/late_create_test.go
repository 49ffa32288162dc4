package zklock_test

import (
	"context"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestLateCreate: the request for a node arrives after the owner has given up.
//
// Row 9 (zklock): a node that is created late is deleted. Fails if nothing is deleted in
// the background.
func TestLateCreate(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr, zklock.WithOpTimeout(shortTimeout))
	const key = "late-create"
	keepParent(t, admin, key) // so that the counter of its children continues
	mustWork(t, b, key)
	testkit.Eventually(t, "no node is left", func() bool { return len(children(t, admin, parentOf(key))) == 0 })
	_, before, err := admin.Exists(parentOf(key))
	if err != nil {
		t.Fatal(err)
	}
	n.HoldAt(creates)
	r := testkit.NewRequest(key)
	if _, err := b.TryAcquire(context.Background(), r); err == nil {
		t.Error("TryAcquire without a reply succeeds")
	}
	_ = b.Release(context.Background(), r.Grant())
	testkit.Eventually(t, "the request is on its way", func() bool { return n.Held() == 1 })
	if err := n.Deliver(); err != nil {
		t.Fatal(err)
	}
	// Two changes: the node was created and deleted.
	testkit.Eventually(t, "the late node was deleted", func() bool {
		_, stat, err := admin.Exists(parentOf(key))
		return err == nil && stat.Cversion == before.Cversion+2 && stat.NumChildren == 0
	})
	mustWork(t, b, key)
}
