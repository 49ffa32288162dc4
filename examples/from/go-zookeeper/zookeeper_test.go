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
	"github.com/distlock-go/distlock/internal/test/zktest"
)

func before(ctx context.Context, conn *zk.Conn, report func(context.Context) error) error {
	lock := zk.NewLock(conn, "/shop/report", zk.WorldACL(zk.PermAll))
	if err := lock.Lock(); err != nil { // waits without a limit
		return err
	}
	defer lock.Unlock()
	return report(ctx) // does not learn that the session has ended
}

func after(ctx context.Context, locker *distlock.Locker, report func(context.Context) error) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

func newLocker(servers ...string) (*distlock.Locker, error) {
	backend, err := zklock.New(servers, zklock.Config{Root: "/shop"})
	if err != nil {
		return nil, err
	}
	return distlock.New(backend, distlock.Config{}), nil
}

// TestBothAtOnce runs old and new processes at the same time, on one key. zk.Lock waits for
// readers and permits, too.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Config{})
	conn, _, err := zk.Connect([]string{server.Addr()}, 20*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	locker, err := newLocker(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	if err := mixed.Run(t.Context(),
		func(ctx context.Context, job mixed.Job) error { return before(ctx, conn, job) },
		func(ctx context.Context, job mixed.Job) error { return after(ctx, locker, job) },
	); err != nil {
		t.Error(err)
	}
	for _, opts := range []distlock.Opts{{Mode: distlock.Shared}, {Permits: 2}} {
		lease, err := locker.Acquire(t.Context(), "report", opts)
		if err != nil {
			t.Fatal(err)
		}
		locked := make(chan error, 1)
		go func() { locked <- before(t.Context(), conn, func(context.Context) error { return nil }) }()
		select {
		case err := <-locked:
			t.Errorf("zk.Lock beside %+v: %v", opts, err)
		case <-time.After(100 * time.Millisecond):
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-locked; err != nil {
			t.Error(err)
		}
	}
}
