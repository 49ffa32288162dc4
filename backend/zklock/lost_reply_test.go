package zklock_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/testmode"
)

// TestRow08LostRenewalAndRelease loses the replies to a renewal and to a release
// that the server has carried out: the lease goes on, and the release that goes on in
// the background leaves the node of the next alone.
//
// Row 8 (zklock): the lease goes on, and the release is certain in the end and leaves
// the next one's node alone. Fails if a renewal without an answer is a loss.
func TestRow08LostRenewalAndRelease(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr, zklock.WithOpTimeout(impatience))
	other := newBackend(t, []string{addr})
	const key = "lost-release-reply"
	g := tryLong(t, b, request(key))
	w := queue(t, other, request(key))
	eventually(t, patience, "a place", func() bool { return len(children(t, admin, parentOf(key))) == 2 })

	n.Deafen()
	if got := renewed(t, b, g); got.Status != driver.Unknown || got.Err == nil {
		t.Errorf("renewed without a reply: %v", got)
	}
	n.Kill()
	eventually(t, patience, "it is renewed", func() bool {
		got := renewed(t, b, g)
		if got.Status == driver.Lost {
			t.Fatal("the renewal denies its own lock")
		}
		return got.Status == driver.Renewed
	})
	w.mustWait(t)

	name := []byte(inOrder(children(t, admin, parentOf(key)))[0])
	n.DeafenAt(func(p []byte) bool { return bytes.Contains(p, name) })
	if err := b.Release(context.Background(), g); err == nil || errors.Is(err, driver.ErrLost) {
		t.Errorf("Release without a reply: %v", err)
	}
	next := w.served(t) // so it was carried out
	if next.Token <= g.Token {
		t.Errorf("token %d after token %d", next.Token, g.Token)
	}
	n.Kill()
	releaseLong(t, b, g)
	isUp(t, b, "of "+key)
	if got := renewed(t, other, next); got.Status != driver.Renewed {
		t.Errorf("the next one's lock after the release was repeated: %v", got)
	}
	mustRelease(t, other, next)
	if names := children(t, admin, parentOf(key)); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}
