package zklock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestStranger: a lock of Curator's is a stranger to a node that it does not see. Nodes
// of this package are not strangers to each other.
func TestStranger(t *testing.T) {
	t.Parallel()
	const ours, curators = "_c_" + guid + "-go-", "_c_" + guid + "-"
	recipes := map[string]string{
		"lock-": "InterProcessMutex or LeaderSelector", "__READ__": "InterProcessReadWriteLock",
		"__WRIT__": "InterProcessReadWriteLock", "__lock__": "kazoo", "__rlock__": "kazoo",
	}
	for _, c := range []struct{ own, sees string }{ // a node of ours, and the tags of Curator's that see it
		{"lock-", "lock-"},
		{"__WRIT__", "__READ__ __WRIT__"},
		{"__READ__", "__READ__ __WRIT__"},
		{"__lock__", "__lock__ __rlock__"},
		{"__rlock__", "__lock__ __rlock__"},
		{"__PERMIT3__", "__PERMIT3__"},
	} {
		own := ours + c.own + "0000000007"
		for _, tag := range []string{"lock-", "__READ__", "__WRIT__", "__lock__", "__rlock__", "__PERMIT3__"} {
			if name, err := zklock.Stranger([]string{own, ours + tag + "0000000001"}, own); name != "" || err != nil {
				t.Errorf("%s of this package is a stranger to %s: %q, %v", tag, c.own, name, err)
			}
			for _, number := range []string{"0000000001", "0000000009"} {
				other := curators + tag + number
				name, err := zklock.Stranger([]string{own, "keep", other}, own)
				switch {
				case slices.Contains(strings.Fields(c.sees), tag) || recipes[tag] == "":
					if name != "" || err != nil {
						t.Errorf("%s sees %s, and is a stranger: %q, %v", tag, c.own, name, err)
					}
				case name != other || !errors.Is(err, driver.ErrForeign) || !strings.Contains(err.Error(), recipes[tag]):
					t.Errorf("%s does not see %s: stranger %q, %v", tag, c.own, name, err)
				}
			}
		}
		name, err := zklock.Stranger([]string{own, "locks", "leases"}, own)
		if name != "leases" || !errors.Is(err, driver.ErrForeign) || !strings.Contains(err.Error(), "InterProcessSemaphoreV2") {
			t.Errorf("a semaphore beside %s: stranger %q, %v", c.own, name, err)
		}
	}
}

// Row 22 (zklock): a lock of another program that does not see ours, or has a rule that is not
// known, is ErrForeign, and a holder loses the key at its next renewal. Fails if the nodes in
// the queue are compared by their numbers alone, or other ephemeral nodes are skipped.
func TestStrangers(t *testing.T) {
	const node = "ephemeral node"
	for _, c := range []struct {
		name    string
		flags   int32
		foreign string // what Inspect says, of nodes that are not in the queue
	}{
		{"_c_" + guid + "-__WRIT__", zk.FlagEphemeralSequential, ""}, {"_c_" + guid + "-latch-", zk.FlagEphemeralSequential, node},
		{"leases", 0, "InterProcessSemaphoreV2"}, {"lock", zk.FlagEphemeral, node}, {"R-", zk.FlagEphemeralSequential, node},
		{"LockA", zk.FlagEphemeralSequential, node}, {"0a1b2c3d4e5f60718293a4b5c6d7e8f9__lock__", zk.FlagEphemeralSequential, ""},
	} {
		onBoth(t, func(t *testing.T, b *zklock.Backend, admin *zk.Conn, watched func(path string) bool) {
			key := t.Name() + c.name
			keepParent(t, admin, key)
			g := testkit.MustTry(t, b, testkit.NewRequest(key))
			other := plant(t, admin, parentOf(key)+"/"+c.name, c.flags)
			for i := range 4 { // two beside the holder, which loses the key
				if i == 2 {
					if got := testkit.Renewed(t, b, g); !errors.Is(got, driver.ErrLost) || !errors.Is(got, driver.ErrForeign) {
						t.Fatalf("renewal: %+v", got)
					}
				}
				if _, err := b.TryAcquire(context.Background(), testkit.NewRequest(key)); !errors.Is(err, driver.ErrForeign) {
					t.Fatalf("the next owner: %v", err)
				}
			}
			testkit.Eventually(t, "the loser has no node", func() bool { return len(children(t, admin, parentOf(key))) == 1 })
			infos, err := b.Inspect(t.Context(), key, 1)
			if err != nil || len(infos) != 1 || infos[0].Foreign != c.foreign || infos[0].Held != 1 || len(infos[0].Holders) != 1 {
				t.Errorf("Inspect: %+v, %v", infos, err)
			}
			if infos, err := b.Inspect(t.Context(), key[:len(key)-1], 1); c.foreign != "" && (err != nil || len(infos) != 0) {
				t.Errorf("Inspect of a prefix: %+v, %v", infos, err)
			}
			w := testkit.StartWaiter(t, b, testkit.NewRequest(key))
			testkit.Eventually(t, "it is watched", func() bool { return watched(other) })
			if names := children(t, admin, parentOf(key)); len(names) != 1 {
				t.Errorf("the waiter has a node beside the stranger: %q", names)
			}
			if err := admin.Delete(other, -1); err != nil {
				t.Fatal(err)
			}
			testkit.MustRelease(t, b, w.Served(t))
		})
	}
}

// TestWithdrawnHolder: a holder asks again beside a stranger, or renews its lease, and gives
// its node up, for good. Its next lock is another one, with a token that is larger than all
// tokens in between.
func TestWithdrawnHolder(t *testing.T) {
	for name, again := range map[string]func(t *testing.T, v *virtual, r driver.Request) error{
		"asks": func(t *testing.T, v *virtual, r driver.Request) error {
			_, err := v.TryAcquire(t.Context(), r)
			return err
		},
		"waits":  enqueue,
		"renews": func(t *testing.T, v *virtual, r driver.Request) error { return testkit.Renewed(t, v, r.Grant()) },
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				r := testkit.NewRequest("key")
				lost, err := v.Extend(t.Context(), testkit.MustTry(t, v, r), 1)
				if err != nil {
					t.Fatal(err)
				}
				told := v.Revoked(t.Context(), lost)
				stranger := v.server.Add(parentOf("key") + "/R-")
				wantForeign(t, again(t, v, r), "ephemeral node")
				synctest.Wait()
				if left := v.server.Children(parentOf("key")); len(left) != 1 {
					t.Errorf("beside the stranger: %q", left)
				}
				v.server.Delete(stranger)
				if got := testkit.Renewed(t, v, lost); !errors.Is(got, driver.ErrLost) {
					t.Errorf("a renewal without the stranger: %v", got)
				}
				other := newVirtual(t, v.server)
				between := testkit.MustTry(t, other, testkit.NewRequest("key"))
				testkit.MustRelease(t, other, between)
				g := testkit.MustTry(t, v, r)
				if g.Token <= between.Token {
					t.Errorf("token %d after token %d", g.Token, between.Token)
				}
				if _, err := v.Extend(t.Context(), g, 1); err != nil { // its node is a new one
					t.Error(err)
				}
				testkit.MustRelease(t, v, g)
				<-told
				plain := v.server.Add(parentOf("key") + "/lock") // its program may compare names as texts
				if err := enqueue(t, v, r); !errors.Is(err, driver.ErrNotAcquired) || !slices.Equal(v.server.Children(parentOf("key")), []string{plain}) {
					t.Errorf("a waiter has a node behind one with a plain name: %v", err)
				}
			})
		})
	}
}

func wantForeign(tb testing.TB, err error, recipe string) {
	tb.Helper()
	if !errors.Is(err, driver.ErrForeign) || errors.Is(err, distlock.ErrUnavailable) || !strings.Contains(err.Error(), recipe) {
		tb.Errorf("where %s has a lock: %v", recipe, err)
	}
}
