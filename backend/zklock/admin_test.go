package zklock_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// newAdmin returns a connection of the client library, for what an operator does.
func newAdmin(tb testing.TB, servers ...string) *zk.Conn {
	tb.Helper()
	return adminOver(tb, net.DialTimeout, servers)
}

func adminOver(tb testing.TB, dial zk.Dialer, servers []string) *zk.Conn {
	tb.Helper()
	c, _, err := zk.Connect(servers, 5*time.Minute, zk.WithDialer(dial), zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// keepParent creates the node of a key as one that is not a container. The server may
// delete an empty container between two steps of a test.
func keepParent(tb testing.TB, c *zk.Conn, key string) {
	tb.Helper()
	for _, path := range []string{zklock.DefaultRoot, parentOf(key)} {
		if _, err := c.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			tb.Fatal(err)
		}
	}
}

// children returns the names of the nodes below path, as the leader knows them, in the
// order of their numbers. It returns none if there is no such node.
func children(tb testing.TB, c *zk.Conn, path string) []string {
	tb.Helper()
	if _, err := c.Sync("/"); err != nil {
		tb.Fatal(err)
	}
	names, _, err := c.Children(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		tb.Fatal(err)
	}
	number := func(name string) string { return name[max(len(name)-10, 0):] }
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return names
}

// queued waits until a key has n nodes.
func queued(tb testing.TB, c *zk.Conn, key string, n int) {
	tb.Helper()
	testkit.Eventually(tb, fmt.Sprint(n, " are in the queue"), func() bool { return len(children(tb, c, parentOf(key))) == n })
}

func parentOf(key string) string { return zklock.DefaultRoot + "/" + zklock.EscapeKey(key) }

// onBoth runs f on the shared server, and on one in memory. f gets what tells whether a node
// is watched.
func onBoth(t *testing.T, f func(t *testing.T, b *zklock.Backend, admin *zk.Conn, watched func(path string) bool)) {
	t.Helper()
	t.Run("in memory", func(t *testing.T) {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			dial := func(string, string, time.Duration) (net.Conn, error) { return v.server.Dial() }
			f(t, v.Backend, adminOver(t, dial, []string{"10.0.0.1:1"}), v.server.Watched)
		})
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		server := zktest.Shared(t)
		f(t, newBackend(t, []string{server.Addr()}), newAdmin(t, server.Addr()), func(path string) bool {
			paths, err := server.Ask("wchp")
			return err == nil && strings.Contains(paths, path)
		})
	})
}

func plant(t *testing.T, admin *zk.Conn, path string, flags int32) string {
	t.Helper()
	path, err := admin.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
