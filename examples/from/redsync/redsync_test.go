// Package redsync has code of docs/migrating.md.
package redsync

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func before(ctx context.Context, rs *redsync.Redsync, report mixed.Job) error {
	mutex := rs.NewMutex("report", redsync.WithExpiry(10*time.Second), redsync.WithTries(100))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer mutex.UnlockContext(context.WithoutCancel(ctx))
	return report(ctx) // has 10 s, and does not learn that they are over
}

func after(ctx context.Context, locker *distlock.Locker, report mixed.Job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

// TestBothAtOnce runs old and new processes at the same time, on one key of one server.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	server, locker := mixed.Redis(t)
	rs := redsync.New(goredis.NewPool(server.Client(t)))
	mixed.Run(t,
		func(ctx context.Context, job mixed.Job) error { return before(ctx, rs, job) },
		func(ctx context.Context, job mixed.Job) error { return after(ctx, locker, job) })
}

// TestBothOnThreeServers: with three pools, both count the same keys.
func TestBothOnThreeServers(t *testing.T) {
	t.Parallel()
	var clients []redis.UniversalClient
	for range 3 {
		clients = append(clients, redistest.Start(t).Client(t))
	}
	rs := redsync.New(goredis.NewPool(clients[0]), goredis.NewPool(clients[1]), goredis.NewPool(clients[2]))
	locker := testkit.NewLocker(t, redlock.New(clients, redlock.Config{
		TrustedStart: true,            // the servers are new
		NodeTimeout:  5 * time.Second, // the machine may be slow
	}), distlock.Config{})
	testkit.WantIs(t, before(t.Context(), rs, func(ctx context.Context) error {
		_, err := locker.TryAcquire(ctx, "report", distlock.Opts{})
		testkit.WantIs(t, err, distlock.ErrNotAcquired)
		return nil
	}))
	testkit.WantIs(t, after(t.Context(), locker, func(ctx context.Context) error {
		if err := rs.NewMutex("report", redsync.WithTimeoutFactor(1)).TryLockContext(ctx); !errors.As(err, new(*redsync.ErrTaken)) {
			t.Errorf("TryLock while distlock has it: %v", err)
		}
		return nil
	}))
}
