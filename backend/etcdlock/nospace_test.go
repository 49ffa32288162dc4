package etcdlock_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestNoSpace: the database of the server is full. Then an operator makes space.
//
// Row 29 (etcdlock): holders keep their locks and release them, and a waiter that is in
// the queue gets its key. A new lock is refused with the cause, and is granted when
// there is space again. Fails if a renewal writes.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	addr := etcdtest.Start(t, "--quota-backend-bytes=200000").Addr()
	operator := newClient(t, addr)
	b := newBackend(t, newClient(t, addr), etcdlock.Config{SessionTTL: 15 * time.Second})
	other := newBackend(t, newClient(t, addr))
	locker := testkit.NewLocker(t, b, distlock.Config{})
	lease := testkit.MustAcquire(t, locker, "kept", distlock.Opts{KeyTimeout: time.Minute})
	g := testkit.MustTry(t, b, testkit.NewRequest("passed-on"))
	w := startWaiter(t, other, operator, testkit.NewRequest("passed-on"))
	fill(t, operator)

	for _, one := range []*etcdlock.Backend{b, newBackend(t, newClient(t, addr))} {
		_, err := one.TryAcquire(t.Context(), testkit.NewRequest("new"))
		checkError(t, "TryAcquire without space", err, "space exceeded", addr)
	}
	checkError(t, "Ping without space", b.Ping(t.Context()), "NOSPACE")
	w.MustWait(t)
	testkit.MustRelease(t, b, g)
	testkit.MustRelease(t, other, w.Served(t))
	until := lease.Until()
	testkit.Eventually(t, "the lease is renewed", func() bool {
		if err := lease.Check(); err != nil {
			t.Fatalf("the lease: %v", err)
		}
		return lease.Until().After(until)
	})

	makeSpace(t, operator, addr)
	testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("new")))
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("Release: %v", err)
	}
	for _, key := range []string{"kept", "passed-on", "new"} {
		testkit.Eventually(t, "no place is left", func() bool { return len(places(t, operator, key)) == 0 })
	}
}

// fill writes until the server refuses.
func fill(tb testing.TB, operator *clientv3.Client) {
	tb.Helper()
	for i := range 1000 {
		if _, err := operator.Put(context.Background(), "filler/"+strconv.Itoa(i), strings.Repeat("x", 10_000)); err != nil {
			if !strings.Contains(err.Error(), "space exceeded") {
				tb.Fatal(err)
			}
			return
		}
	}
	tb.Fatal("the server does not get full")
}

// makeSpace does what an operator does.
func makeSpace(tb testing.TB, operator *clientv3.Client, addr string) {
	tb.Helper()
	ctx := context.Background()
	resp, err := operator.Delete(ctx, "filler/", clientv3.WithPrefix())
	if err == nil {
		_, err = operator.Compact(ctx, resp.Header.Revision, clientv3.WithCompactPhysical())
	}
	if err == nil {
		_, err = operator.Defragment(ctx, addr)
	}
	if err == nil {
		_, err = operator.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	}
	if err != nil {
		tb.Fatal(err)
	}
}
