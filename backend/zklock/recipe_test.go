package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/testkit"
)

// TestStranger: a lock of Curator's is a stranger to a node that it does not see. Nodes of
// this package are not strangers to each other.
func TestStranger(t *testing.T) {
	t.Parallel()
	const ours, curators = "_c_" + guid + "-go-", "_c_" + guid + "-"
	recipes := map[string]string{
		"lock-": "InterProcessMutex or LeaderSelector", "__READ__": "InterProcessReadWriteLock",
		"__WRIT__": "InterProcessReadWriteLock", "latch-": "LeaderLatch",
	}
	for _, c := range []struct{ own, sees string }{ // a node of ours, and the tags of Curator's that see it
		{"lock-", "lock-"},
		{"__WRIT__", "__READ__ __WRIT__"},
		{"__READ__", "__READ__ __WRIT__"},
		{"latch-", "latch-"},
		{"__PERMIT3__", "__PERMIT3__"},
	} {
		own := ours + c.own + "0000000007"
		for _, tag := range []string{"lock-", "__READ__", "__WRIT__", "latch-", "__PERMIT3__"} {
			if name, err := zklock.Stranger([]string{own, ours + tag + "0000000001"}, own); name != "" || err != nil {
				t.Errorf("%s of this package is a stranger to %s: %q, %v", tag, c.own, name, err)
			}
			for _, number := range []string{"0000000001", "0000000009"} {
				other := curators + tag + number
				name, err := zklock.Stranger([]string{own, "keep", other}, own)
				switch {
				case strings.Contains(c.sees, tag) || recipes[tag] == "":
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

// TestStrangers: other programs create nodes where this package has a lock, which do not
// see it. The holder loses the key, and the next owner is refused, whether it reads the
// queue anyway or has learned that it need not.
//
// Row 22 (zklock): a lock of Curator that does not see ours is ErrForeign, and a holder loses
// the key at its next renewal. Fails if the nodes in the queue are compared by their numbers
// alone.
func TestStrangers(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	for _, c := range []struct {
		name  string
		flags int32
	}{{"_c_" + guid + "-__WRIT__", zk.FlagEphemeralSequential}, {"leases", 0}} {
		for _, learned := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, learned), func(t *testing.T) {
				t.Parallel()
				key := t.Name()
				keepParent(t, admin, key)
				b, _, requests := counted(t, addr)
				if learned {
					learn(t, b, requests, admin, key)
				}
				g := testkit.MustTry(t, b, testkit.NewRequest(key))
				other := plant(t, admin, parentOf(key)+"/"+c.name, c.flags)
				if got := testkit.Renewed(t, b, g); got.Status != driver.Lost || !errors.Is(got.Err, driver.ErrForeign) {
					t.Errorf("renewal: %+v", got)
				}
				for range 2 {
					if _, err := b.TryAcquire(context.Background(), testkit.NewRequest(key)); !errors.Is(err, driver.ErrForeign) {
						t.Errorf("the next owner: %v", err)
					}
				}
				w := testkit.StartWaiter(t, b, testkit.NewRequest(key))
				testkit.Eventually(t, "it is in the queue", func() bool { return len(children(t, admin, parentOf(key))) == 2 })
				if err := admin.Delete(other, -1); err != nil {
					t.Fatal(err)
				}
				testkit.MustRelease(t, b, w.Served(t))
			})
		}
	}
}
