package zklock_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
	"github.com/distlock-go/distlock/locktest"
)

// conform runs the conformance suite. Its leases of a minute need a long session.
func conform(t *testing.T, servers []string) {
	t.Helper()
	admins := make([]*zk.Conn, len(servers)) // one for each server
	for i, s := range servers {
		admins[i] = newAdmin(t, s)
	}
	locktest.Run(t, func(t *testing.T) driver.Backend { return through(t, servers, nil, 20*time.Second) }, locktest.Features{
		Lease: 400 * time.Millisecond,
		Drop:  func(t *testing.T, _ driver.Backend, key string) { drop(t, admins, key) },
		Peer:  func(t *testing.T, _ driver.Backend) driver.Backend { return through(t, servers, nil, 20*time.Second) },
		Over: func(t *testing.T, _ driver.Backend, n *locktest.Network) driver.Backend {
			return through(t, servers, n.DialContext, 2*time.Second)
		},
	})
}

// through returns a Backend whose connections are opened by dial, or by the default.
func through(t *testing.T, servers []string, dial locktest.DialFunc, limit time.Duration) driver.Backend {
	t.Helper()
	c := zklock.Config{SessionTimeout: 5 * time.Minute, OpTimeout: limit}
	if dial != nil {
		c.Dialer = func(network, addr string, timeout time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			return dial(ctx, network, addr)
		}
	}
	b, err := zklock.New(servers, c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestConformanceVirtual runs the suite on a server in memory, in virtual time.
//
// Row 7 (zklock): a holder that reaches no server, or hears from none, is told before another
// owner has the key. Fails if a lease is trusted for a second longer than it lasts.
// Row 8 (zklock): the lease continues, the owner finds its node again, and a release that
// is repeated is no loss. Fails if a renewal without an answer counts as Lost.
// Row 9 (zklock): the holder's context has ended, and Check says so, before another owner gets
// the key. Fails if an operation without an answer has no end.
// Row 12 (zklock): the owner finds its node again. Fails if the Backend does not look
// for a node after the reply to its creation was lost.
// Row 14 (zklock): 200 waiters leave at once, and callers come whose context has ended: nothing
// is left. Fails if the place of a waiter stays that was released.
// Row 24 (zklock): what was given back before Close is free for another process,
// and MinHold goes on. Fails if MinHold ends with the process.
func TestConformanceVirtual(t *testing.T) {
	failFast(t, 40*time.Second)
	reconnects(t)
	servers := make(map[driver.Backend]*fakeServer)
	with := func(t *testing.T, server *fakeServer, n *locktest.Network) driver.Backend {
		t.Helper()
		dial := n.To(func(context.Context, string, string) (net.Conn, error) { return server.Dial() })
		b := through(t, []string{"10.0.0.1:1", "10.0.0.2:1"}, dial, 2*time.Second)
		servers[b] = server
		return b
	}
	locktest.Run(t, func(t *testing.T) driver.Backend { return with(t, new(fakeServer), new(locktest.Network)) }, locktest.Features{
		Bubble: true,
		Lease:  2 * time.Second,
		Drop: func(_ *testing.T, b driver.Backend, key string) {
			servers[b].Delete(slices.MinFunc(servers[b].Children(parentOf(key)), func(x, y string) int {
				return strings.Compare(x[len(x)-10:], y[len(y)-10:]) // the numbers of the nodes
			}))
		},
		Over: func(t *testing.T, first driver.Backend, n *locktest.Network) driver.Backend {
			return with(t, servers[first], n)
		},
	})
}

// drop deletes the node of the holder, which must have an exclusive lock. A server of
// an ensemble may be behind the others: when drop returns, each has deleted the node.
func drop(t *testing.T, admins []*zk.Conn, key string) {
	t.Helper()
	parent := parentOf(key)
	names := children(t, admins[0], parent)
	if len(names) == 0 {
		t.Fatal("nobody has the key")
	}
	if err := admins[0].Delete(parent+"/"+names[0], -1); err != nil {
		t.Fatal(err)
	}
	for _, c := range admins {
		if _, err := c.Sync(parent); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConformance(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	conform(t, []string{zktest.Shared(t).Addr()})
}
