package zklock_test

import (
	"errors"
	"math"
	"path"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestExtendBetweenTheLooks: another owner joins the queue after the first look of
// Extend, before the write. Its token is smaller than the tokens of the write, so these
// do not count. The owner may extend its lock later.
func TestExtendBetweenTheLooks(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		g := testkit.MustTry(t, v, testkit.NewRequest("key"))
		joined := ""
		v.server.On(opSetData, func(node string) fate {
			if joined == "" {
				joined = v.server.Add(path.Dir(node) + "/_c_" + guid + "-lock-")
			}
			return served
		})
		if _, err := v.Extend(t.Context(), g, 4); !errors.Is(err, driver.ErrNotAcquired) || joined == "" {
			t.Errorf("Extend, and another owner has joined (%q): %v", joined, err)
		}
		v.server.Delete(joined)
		if _, err := v.Extend(t.Context(), g, 4); err != nil {
			t.Errorf("Extend when it has left: %v", err)
		}
		v.server.Add(path.Dir(joined) + "/_c_" + guid + "-lock-")
		v.server.On(opGetData, func(node string) fate { v.server.Delete(node); return served })
		if infos, err := v.Inspect(t.Context(), "key", 1); len(infos) != 0 || err != nil {
			t.Errorf("Inspect, and all leave while it reads: %+v, %v", infos, err)
		}
	})
}

// TestNodesBelongToTheirUser: with credentials every node, the key's and one that is
// kept, too, belongs to the user alone. Who may delete a child is what the list of its
// parent says.
func TestNodesBelongToTheirUser(t *testing.T) {
	for want, config := range map[string]zklock.Config{"auth": {User: "shop", Password: "secret"}, "world": {}} {
		t.Run(want, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				g := testkit.MustTry(t, v, testkit.NewRequest("key"))
				g.Retain = true
				testkit.MustRenew(t, v, g)
				acls := v.server.ACLs()
				if len(acls) < 5 { // root, two keys, two nodes and one that is kept
					t.Errorf("created %v", acls)
				}
				for node, got := range acls {
					if got != want {
						t.Errorf("%s belongs to %q, want %q", node, got, want)
					}
				}
			}, config)
		})
	}
}

// TestIsEphemeral: containers and nodes with a TTL have an owner that is no session.
func TestIsEphemeral(t *testing.T) {
	t.Parallel()
	for owner, want := range map[int64]bool{
		0: false, 1: true, 0x100000000000001: true, math.MinInt64: false, -1 << 56: false, -1<<56 + 60_000: false, -1: false, 0x7e00000000000001: true,
	} {
		if got := zklock.IsEphemeral(owner); got != want {
			t.Errorf("%#x: %v", uint64(owner), got)
		}
	}
}
