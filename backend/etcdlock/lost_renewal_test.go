package etcdlock_test

import (
	"testing"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestLostRenewal: the reply to a renewal is lost. The lease continues.
//
// Row 8 (etcdlock): the lease continues. Fails if a renewal without an answer counts as
// Lost.
func TestLostRenewal(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	b, n := overNetwork(t, addr, etcdlock.WithOpTimeout(shortTimeout))
	g := testkit.TryRepeatedly(t, b, testkit.NewRequest("lost-renewal"))
	n.Deafen()
	if s := testkit.Renewed(t, b, g); s.Status != driver.Unknown || s.Err == nil {
		t.Errorf("renewed without a reply: %v", s)
	}
	n.Kill()
	testkit.Eventually(t, "it is renewed", func() bool {
		s := testkit.Renewed(t, b, g)
		if s.Status == driver.Lost {
			t.Fatal("the renewal of a held lock is Lost")
		}
		return s.Status == driver.Renewed
	})
	testkit.ReleaseRepeatedly(t, b, g)
}
