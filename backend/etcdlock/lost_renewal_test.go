package etcdlock_test

import (
	"testing"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
)

// TestRow08LostRenewal: the reply to a renewal is lost. The lease continues.
//
// Row 8 (etcdlock): the lease continues. Fails if a renewal without an answer counts as
// Lost.
func TestRow08LostRenewal(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	b, n := overNetwork(t, addr, etcdlock.WithOpTimeout(shortTimeout))
	g := tryRepeatedly(t, b, request("lost-renewal"))
	n.Deafen()
	if s := renewed(b, g); s.Status != driver.Unknown || s.Err == nil {
		t.Errorf("renewed without a reply: %v", s)
	}
	n.Kill()
	eventually(t, patience, "it is renewed", func() bool {
		s := renewed(b, g)
		if s.Status == driver.Lost {
			t.Fatal("the renewal of a held lock is Lost")
		}
		return s.Status == driver.Renewed
	})
	releaseRepeatedly(t, b, g)
}
