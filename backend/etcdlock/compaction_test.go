package etcdlock_test

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// compact compacts the whole history of the server.
func compact(tb testing.TB, admin *clientv3.Client) {
	tb.Helper()
	// A revision that nobody waits for: the present one is not compacted away.
	resp, err := admin.Put(context.Background(), "compaction", "")
	if err == nil {
		_, err = admin.Compact(context.Background(), resp.Header.Revision, clientv3.WithCompactPhysical())
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// The history is compacted while a waiter watches, and again while it is cut off and
// the key is released. The release is not in the history any more when the watch
// resumes.
//
// Row 27 (etcdlock): the waiter gets the key. Fails if a watch goes on after the
// message that its revision was compacted.
func TestCompaction(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	addr := server.Addr()
	admin := newClient(t, addr)
	b, n := overNetwork(t, addr)
	other := newBackend(t, newClient(t, addr))

	g := testkit.MustTry(t, other, testkit.NewRequest("cut"))
	w := startWaiter(t, b, admin, testkit.NewRequest("cut"))
	testkit.Eventually(t, "it watches", func() bool { return watchersOf(t, server) == 1 })
	compact(t, admin)
	w.MustWait(t)
	n.Hang(true)
	testkit.MustRelease(t, other, g)
	compact(t, admin)
	w.MustWait(t)
	n.Hang(false)
	n.CloseCut()
	testkit.MustRelease(t, b, w.Served(t))
}
