// Package etcd has code of docs/migrating.md.
package etcd

import (
	"context"
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
)

type job func(ctx context.Context) error

func before(ctx context.Context, client *clientv3.Client, report job) error {
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

func newLocker(client *clientv3.Client) (*distlock.Locker, error) {
	backend, err := etcdlock.New(client, etcdlock.Config{Prefix: "/shop/"})
	if err != nil {
		return nil, err
	}
	return distlock.New(backend, distlock.Config{}), nil
}

func after(ctx context.Context, locker *distlock.Locker, report job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

// start returns a client of a new server, and the page's Locker.
func start(t *testing.T) (*clientv3.Client, *distlock.Locker) {
	t.Helper()
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	locker, err := newLocker(client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locker.Close() })
	return client, locker
}

// TestBothAtOnce runs old and new processes at the same time, on one key.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	client, locker := start(t)
	err := mixed.Run(t.Context(),
		func(ctx context.Context, job mixed.Job) error { return before(ctx, client, job) },
		func(ctx context.Context, job mixed.Job) error { return after(ctx, locker, job) },
	)
	if err != nil {
		t.Error(err)
	}
}

// TestElection: an election and a lock of the same name exclude each other.
func TestElection(t *testing.T) {
	t.Parallel()
	client, locker := start(t)
	session, err := concurrency.NewSession(client)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	election := concurrency.NewElection(session, "/shop/leader")
	if err := election.Campaign(t.Context(), "web-3"); err != nil {
		t.Fatal(err)
	}
	if _, err := locker.TryAcquire(t.Context(), "leader", distlock.Opts{}); !errors.Is(err, distlock.ErrNotAcquired) {
		t.Errorf("TryAcquire while another is elected: %v", err)
	}
	if err := election.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	lease, err := locker.TryAcquire(t.Context(), "leader", distlock.Opts{})
	if err != nil {
		t.Fatal(err)
	}
	if leader, err := election.Leader(t.Context()); err != nil || len(leader.Kvs) != 1 || string(leader.Kvs[0].Value) == "web-3" {
		t.Errorf("the leader is %v, %v, want ours", leader, err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
