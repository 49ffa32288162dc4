package zklock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestRevokeIsNotLost: a holder is told of a message that came before it listened, after an
// extension, or without a connection. A process that was asked does not extend its lock.
// Other processes still see the name of the holder.
func TestRevokeIsNotLost(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	other := newBackend(t, []string{addr})
	for _, name := range []string{"before it listens", "after an extension", "without a connection"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, n := overNetwork(t, addr)
			r := named("revoke "+name, "web-3/1432")
			g := testkit.MustTry(t, b, r)
			asked := b.Revoked(t.Context(), g)
			switch name {
			case "after an extension":
				for range 3 {
					var err error
					if g, err = b.Extend(t.Context(), g, 1); err != nil {
						t.Fatal(err)
					}
				}
				testkit.MustRenew(t, b, g)
				select {
				case <-asked:
					t.Error("an extension asks the holder")
				default:
				}
			case "without a connection":
				reconnects(t)
				drain(t, b)
				n.Refuse(true)
				n.Kill()
			}
			if held, err := other.Revoke(t.Context(), g.Key); !held || err != nil {
				t.Errorf("Revoke: %v, %v", held, err)
			}
			n.Refuse(false)
			if name == "before it listens" {
				asked = b.Revoked(t.Context(), g)
			}
			select {
			case <-asked:
			case <-time.After(patience):
				t.Fatal("the holder is not asked")
			}
			for range 2 {
				if _, err := b.Extend(t.Context(), g, 1); !errors.Is(err, driver.ErrNotAcquired) {
					t.Errorf("Extend after the holder was asked: %v", err)
				}
			}
			infos, err := other.Inspect(t.Context(), g.Key, 1)
			if err != nil || len(infos) != 1 || infos[0].Holders[0].Holder != "web-3/1432" || infos[0].Holders[0].Owner != driver.Fingerprint(r.Owner) {
				t.Errorf("Inspect: %+v, %v", infos, err)
			}
			testkit.MustRenew(t, b, g) // it was only asked
			testkit.MustRelease(t, b, g)
		})
	}
}
