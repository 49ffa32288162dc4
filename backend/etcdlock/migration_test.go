package etcdlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
)

type job func(ctx context.Context) error

// beforeMigration takes a lock as docs/migration.md shows it.
func beforeMigration(ctx context.Context, client *clientv3.Client, report job) error {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(10))
	if err != nil {
		return err
	}
	defer session.Close()
	mutex := concurrency.NewMutex(session, "/shop/report")
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	defer mutex.Unlock(context.WithoutCancel(ctx))
	return report(ctx) // does not learn that the session has ended
}

// lockerAfterMigration returns a Locker that has the keys of beforeMigration.
func lockerAfterMigration(client *clientv3.Client) (*distlock.Locker, error) {
	backend, err := etcdlock.New(client, etcdlock.WithPrefix("/shop/"))
	if err != nil {
		return nil, err
	}
	locker := distlock.New(backend, distlock.Config{})
	return locker, nil
}

func afterMigration(ctx context.Context, locker *distlock.Locker, report job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

// TestMigration runs old and new processes at the same time.
func TestMigration(t *testing.T) {
	t.Parallel()
	client := newClient(t, shared.Server(t).Addr())
	locker, err := lockerAfterMigration(client)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	var users atomic.Int32
	report := func(context.Context) error {
		if users.Add(1) != 1 {
			t.Error("two holders at the same time")
		}
		time.Sleep(5 * time.Millisecond)
		users.Add(-1)
		return nil
	}
	errs := make(chan error)
	for range 3 {
		go func() {
			var err error
			for range 5 {
				err = errors.Join(err, beforeMigration(t.Context(), client, report))
			}
			errs <- err
		}()
		go func() {
			var err error
			for range 5 {
				err = errors.Join(err, afterMigration(t.Context(), locker, report))
			}
			errs <- err
		}()
	}
	for range 6 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestMutexOfOneSession pins what the page says of concurrency.Mutex: goroutines that
// share a session do not exclude each other, while those that share a Locker do.
func TestMutexOfOneSession(t *testing.T) {
	t.Parallel()
	client := newClient(t, shared.Server(t).Addr())
	session, err := concurrency.NewSession(client)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for range 2 {
		if err := concurrency.NewMutex(session, "/shop/session").Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	locker, err := lockerAfterMigration(client)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	lease, err := locker.Acquire(t.Context(), "locker", distlock.Opts{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locker.TryAcquire(t.Context(), "locker", distlock.Opts{}); !errors.Is(err, distlock.ErrNotAcquired) {
		t.Errorf("TryAcquire of a key that this process holds: %v", err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
