package zklock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// conform runs the conformance suite. Its leases of a minute need a long session.
func conform(t *testing.T, servers []string) {
	t.Helper()
	admin := newAdmin(t, servers...)
	open := func(t *testing.T) driver.Backend {
		b, err := zklock.New(servers, zklock.WithSessionTimeout(5*time.Minute), zklock.WithOpTimeout(20*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	locktest.Run(t, open, locktest.Features{
		Lease: 400 * time.Millisecond,
		Drop:  func(t *testing.T, _ driver.Backend, key string) { drop(t, admin, key) },
		Peer:  func(t *testing.T, _ driver.Backend) driver.Backend { return open(t) },
	})
}

// drop deletes the node of the holder, which must have an exclusive lock.
func drop(t *testing.T, admin *zk.Conn, key string) {
	t.Helper()
	parent := zklock.DefaultRoot + "/" + zklock.EscapeKey(key)
	names := children(t, admin, parent)
	if len(names) == 0 {
		t.Fatal("nobody has the key")
	}
	first := slices.MinFunc(names, func(a, b string) int {
		if a[len(a)-10:] < b[len(b)-10:] {
			return -1
		}
		return 1
	})
	if err := admin.Delete(parent+"/"+first, -1); err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	conform(t, []string{sharedServer(t).Addr()})
}
