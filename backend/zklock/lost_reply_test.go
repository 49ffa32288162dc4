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

// TestRow08LostRenewalAndRelease: the replies to a renewal and to a release are lost. The
// lease continues. The release continues in the background and does not touch the node of
// the next holder.
//
// Row 8 (zklock): the lease continues, and the release succeeds in the background and does
// not touch the node of the next holder. Fails if a renewal without an answer counts as
// Lost.
func TestRow08LostRenewalAndRelease(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr, zklock.WithOpTimeout(shortTimeout))
	other := newBackend(t, []string{addr})
	const key = "lost-release-reply"
	g := tryRepeatedly(t, b, request(key))
	w := startWaiter(t, other, request(key))
	eventually(t, patience, "it is in the queue", func() bool { return len(children(t, admin, parentOf(key))) == 2 })

	n.Deafen()
	if got := renewed(t, b, g); got.Status != driver.Unknown || got.Err == nil {
		t.Errorf("renewed without a reply: %v", got)
	}
	n.Kill()
	eventually(t, patience, "it is renewed", func() bool {
		got := renewed(t, b, g)
		if got.Status == driver.Lost {
			t.Fatal("the renewal of a held lock is Lost")
		}
		return got.Status == driver.Renewed
	})
	w.mustWait(t)

	name := []byte(byNumber(children(t, admin, parentOf(key)))[0])
	n.DeafenAt(func(p []byte) bool { return bytes.Contains(p, name) })
	if err := b.Release(context.Background(), g); err == nil || errors.Is(err, driver.ErrLost) {
		t.Errorf("Release without a reply: %v", err)
	}
	next := w.served(t) // so the server has released the key
	if next.Token <= g.Token {
		t.Errorf("token %d after token %d", next.Token, g.Token)
	}
	n.Kill()
	releaseRepeatedly(t, b, g)
	mustWork(t, b, "of "+key)
	if got := renewed(t, other, next); got.Status != driver.Renewed {
		t.Errorf("the next holder's lock after the release was repeated: %v", got)
	}
	mustRelease(t, other, next)
	if names := children(t, admin, parentOf(key)); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}
