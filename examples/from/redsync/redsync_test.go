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
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

func before(ctx context.Context, rs *redsync.Redsync, report func(context.Context) error) error {
	mutex := rs.NewMutex("report", redsync.WithExpiry(10*time.Second), redsync.WithTries(100))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer mutex.UnlockContext(context.WithoutCancel(ctx))
	return report(ctx) // has 10 s, and does not learn that they are over
}

func after(ctx context.Context, locker *distlock.Locker, report func(context.Context) error) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

func newRedsync(client *redis.Client) *redsync.Redsync {
	return redsync.New(goredis.NewPool(client))
}

func newLocker(client *redis.Client) *distlock.Locker {
	return distlock.New(redislock.New(client, redislock.Config{}), distlock.Config{})
}

// newRedlock is for several pools.
func newRedlock(clients []redis.UniversalClient, cfg redlock.Config) *distlock.Locker {
	return distlock.New(redlock.New(clients, cfg), distlock.Config{})
}

// TestBothAtOnce runs old and new processes at the same time, on one key of one server.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rs, locker := newRedsync(server.Client(t)), newLocker(server.Client(t))
	defer locker.Close()
	if err := mixed.Run(t.Context(),
		func(ctx context.Context, job mixed.Job) error { return before(ctx, rs, job) },
		func(ctx context.Context, job mixed.Job) error { return after(ctx, locker, job) },
	); err != nil {
		t.Error(err)
	}
}

// TestBothOnThreeServers: with three pools, both count the same keys.
func TestBothOnThreeServers(t *testing.T) {
	t.Parallel()
	var clients []redis.UniversalClient
	for range 3 {
		clients = append(clients, redistest.Start(t).Client(t))
	}
	rs := redsync.New(goredis.NewPool(clients[0]), goredis.NewPool(clients[1]), goredis.NewPool(clients[2]))
	locker := newRedlock(clients, redlock.Config{
		TrustedStart: true,            // the servers are new
		NodeTimeout:  5 * time.Second, // the machine may be slow
	})
	defer locker.Close()
	if err := before(t.Context(), rs, func(ctx context.Context) error {
		if _, err := locker.TryAcquire(ctx, "report", distlock.Opts{}); !errors.Is(err, distlock.ErrNotAcquired) {
			t.Errorf("TryAcquire while redsync has it: %v", err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := after(t.Context(), locker, func(ctx context.Context) error {
		if err := rs.NewMutex("report", redsync.WithTimeoutFactor(1)).TryLockContext(ctx); !errors.As(err, new(*redsync.ErrTaken)) {
			t.Errorf("TryLock while distlock has it: %v", err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
