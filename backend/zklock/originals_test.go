package zklock_test

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// original is a lock as articles write it by hand: an ephemeral sequential node, which
// has the lock when it is the first of all children.
type original struct {
	conn  *zk.Conn
	path  string
	order func(a, b string) int
	all   bool // it watches the whole list, and not the node before its own
}

func (o original) lock() (node string, err error) {
	node, err = o.conn.Create(o.path+"/lock", []byte("original"), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return "", err
	}
	for {
		names, _, changed, err := o.conn.ChildrenW(o.path)
		if err != nil {
			return "", err
		}
		slices.SortFunc(names, o.order)
		i := slices.Index(names, node[len(o.path)+1:])
		if i == 0 {
			return node, nil
		}
		if !o.all {
			exists, _, gone, err := o.conn.ExistsW(o.path + "/" + names[i-1])
			if err != nil {
				return "", err
			}
			if !exists {
				continue
			}
			changed = gone
		}
		<-changed
	}
}

// They compare the names or the numbers of the nodes.
//
// Row 22 (zklock): a lock with a plain name excludes ours, and all get their turns.
// Fails if such a name is skipped, or an owner keeps its node while it waits for such a
// lock.
func TestOriginals(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	number := func(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) }
	for name, o := range map[string]original{
		"names, the whole list":     {order: strings.Compare, all: true},
		"numbers, the whole list":   {order: number, all: true},
		"numbers, the predecessor":  {order: number},
		"names, the nearest before": {order: strings.Compare},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const users, rounds = 3, 8
			key := "original: " + name
			o.path = parentOf(key)
			keepParent(t, newAdmin(t, addr), key)
			var inside, count atomic.Int32
			work := func() {
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d have the lock", n)
				}
				count.Add(1)
				inside.Add(-1)
			}
			var wg sync.WaitGroup
			for range users {
				user := o
				user.conn = newAdmin(t, addr)
				wg.Go(func() {
					for range rounds {
						node, err := user.lock()
						if err != nil {
							t.Error(err)
							return
						}
						work()
						if err := user.conn.Delete(node, -1); err != nil {
							t.Error(err)
						}
					}
				})
				b := newBackend(t, []string{addr})
				wg.Go(func() {
					for range rounds {
						g, err := testkit.Await(t.Context(), b, testkit.NewRequest(key), testkit.Looks{})
						if err != nil {
							t.Error(err)
							return
						}
						work()
						testkit.MustRenew(t, b, g)
						if err := b.Release(t.Context(), g); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if n := count.Load(); n != 2*users*rounds {
				t.Errorf("%d turns, want %d", n, 2*users*rounds)
			}
		})
	}
}
