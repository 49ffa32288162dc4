// Package zookeeper has code of docs/migrating.md.
package zookeeper

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

func before(ctx context.Context, conn *zk.Conn, report mixed.Job) error {
	lock := zk.NewLock(conn, "/shop/report", zk.WorldACL(zk.PermAll))
	if err := lock.Lock(); err != nil { // waits without a limit
		return err
	}
	defer lock.Unlock()
	return report(ctx) // does not learn that the session has ended
}

func after(ctx context.Context, locker *distlock.Locker, report mixed.Job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

// TestBothAtOnce runs old and new processes at the same time, on one key. zk.Lock waits
// for readers and permits, too.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Config{})
	conn, _, err := zk.Connect([]string{server.Addr()}, 20*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	backend, err := zklock.New([]string{server.Addr()}, zklock.Config{Root: "/shop"})
	if err != nil {
		t.Fatal(err)
	}
	locker := testkit.NewLocker(t, backend, distlock.Config{})
	mixed.Run(t,
		func(ctx context.Context, job mixed.Job) error { return before(ctx, conn, job) },
		func(ctx context.Context, job mixed.Job) error { return after(ctx, locker, job) })
	for _, opts := range []distlock.Opts{{Mode: distlock.Shared}, {Permits: 2}} {
		lease := testkit.MustAcquire(t, locker, "report", opts)
		locked := make(chan error, 1)
		go func() { locked <- before(t.Context(), conn, func(context.Context) error { return nil }) }()
		select {
		case err := <-locked:
			t.Errorf("zk.Lock beside %+v: %v", opts, err)
		case <-time.After(100 * time.Millisecond):
		}
		testkit.WantIs(t, lease.Release(t.Context()))
		testkit.WantIs(t, <-locked)
	}
}
