// Package etcd has code of docs/migrating.md.
package etcd

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func before(ctx context.Context, client *clientv3.Client, report mixed.Job) error {
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

func after(ctx context.Context, locker *distlock.Locker, report mixed.Job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

// TestBothAtOnce runs old and new processes at the same time, on one key. An election
// and a lock of the same name exclude each other, too.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	backend, err := etcdlock.New(client, etcdlock.Config{Prefix: "/shop/"})
	if err != nil {
		t.Fatal(err)
	}
	locker := testkit.NewLocker(t, backend, distlock.Config{})
	mixed.Run(t,
		func(ctx context.Context, job mixed.Job) error { return before(ctx, client, job) },
		func(ctx context.Context, job mixed.Job) error { return after(ctx, locker, job) })

	session, err := concurrency.NewSession(client)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	election := concurrency.NewElection(session, "/shop/leader")
	testkit.WantIs(t, election.Campaign(t.Context(), "web-3"))
	_, err = locker.TryAcquire(t.Context(), "leader", distlock.Opts{})
	testkit.WantIs(t, err, distlock.ErrNotAcquired)
	testkit.WantIs(t, election.Resign(t.Context()))
	lease := testkit.MustAcquire(t, locker, "leader", distlock.Opts{})
	if leader, err := election.Leader(t.Context()); err != nil || len(leader.Kvs) != 1 || string(leader.Kvs[0].Value) == "web-3" {
		t.Errorf("the leader is %v, %v, want ours", leader, err)
	}
	testkit.WantIs(t, lease.Release(t.Context()))
}
