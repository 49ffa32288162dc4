// Package zookeeper has code of docs/migrating.md.
package zookeeper

import (
	"context"
	"errors"
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
	backend, err := zklock.New(servers, zklock.WithRoot("/shop"))
	if err != nil {
		return nil, err
	}
	return distlock.New(backend, distlock.Config{}), nil
}

// TestPage runs its parts on one server, which takes long to start.
func TestPage(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Config{})
	conn, _, err := zk.Connect([]string{server.Addr()}, 20*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	t.Run("both at once", func(t *testing.T) { bothAtOnce(t, conn, server.Addr()) })
	t.Run("other names", func(t *testing.T) { otherNames(t, conn, server.Addr()) })
}

// bothAtOnce runs old and new processes at the same time, on one key, and then looks at
// what the page says of the rest.
func bothAtOnce(t *testing.T, conn *zk.Conn, addr string) {
	t.Helper()
	locker, err := newLocker(addr)
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

	// A second Lock of one object is refused; a second one of the path waits.
	lock := zk.NewLock(conn, "/shop/report", zk.WorldACL(zk.PermAll))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := lock.Lock(); !errors.Is(err, zk.ErrDeadlock) {
		t.Errorf("a second Lock: %v", err)
	}
	if _, err := locker.TryAcquire(t.Context(), "report", distlock.Opts{}); !errors.Is(err, distlock.ErrNotAcquired) {
		t.Errorf("TryAcquire while zk.Lock has it: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}

	// It waits for readers and permits, too.
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

	// When the node is gone, as after the end of the session, only Unlock tells it, and the
	// object cannot be used again.
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	nodes, _, err := conn.Children("/shop/report")
	if err != nil || len(nodes) != 1 {
		t.Fatalf("the nodes are %q, %v", nodes, err)
	}
	if err := conn.Delete("/shop/report/"+nodes[0], -1); err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(); !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("Unlock: %v", err)
	}
	if err := lock.Lock(); !errors.Is(err, zk.ErrDeadlock) {
		t.Errorf("Lock after that: %v", err)
	}
}

// otherNames: with the names of another recipe, distlock refuses a key that has a lock of
// go-zookeeper.
func otherNames(t *testing.T, conn *zk.Conn, addr string) {
	t.Helper()
	for _, names := range []zklock.Option{zklock.WithReadWriteNames(), zklock.WithKazooNames()} {
		backend, err := zklock.New([]string{addr}, zklock.WithRoot("/shop"), names)
		if err != nil {
			t.Fatal(err)
		}
		locker := distlock.New(backend, distlock.Config{})
		if err := before(t.Context(), conn, func(ctx context.Context) error {
			if _, err := locker.TryAcquire(ctx, "report", distlock.Opts{}); !errors.Is(err, distlock.ErrForeign) {
				t.Errorf("TryAcquire while zk.Lock has it: %v", err)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := locker.Close(); err != nil {
			t.Error(err)
		}
	}
}
