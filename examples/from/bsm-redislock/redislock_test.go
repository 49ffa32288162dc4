// Package bsm has code of docs/migrating.md.
package bsm

import (
	"context"
	"testing"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

func before(ctx context.Context, client *bsm.Client, report func(context.Context) error) error {
	lock, err := client.Obtain(ctx, "report", 10*time.Second, &bsm.Options{
		RetryStrategy: bsm.LinearBackoff(100 * time.Millisecond),
	})
	if err != nil {
		return err
	}
	defer lock.Release(context.WithoutCancel(ctx))
	return report(ctx) // has 10 s, and does not learn that they are over
}

func after(ctx context.Context, locker *distlock.Locker, report func(context.Context) error) error {
	return locker.Do(ctx, "report", distlock.Opts{MaxWait: 10 * time.Second}, report)
}

func newLocker(client *redis.Client) *distlock.Locker {
	return distlock.New(redislock.New(client, redislock.Config{}), distlock.Config{})
}

// start returns the old and the new library on one server.
func start(t *testing.T) (*bsm.Client, *distlock.Locker) {
	t.Helper()
	server := redistest.Start(t)
	locker := newLocker(server.Client(t))
	t.Cleanup(func() { _ = locker.Close() })
	return bsm.New(server.Client(t)), locker
}

// TestBothAtOnce runs old and new processes at the same time, on one key.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	client, locker := start(t)
	if err := mixed.Run(t.Context(),
		func(ctx context.Context, job mixed.Job) error { return before(ctx, client, job) },
		func(ctx context.Context, job mixed.Job) error { return after(ctx, locker, job) },
	); err != nil {
		t.Error(err)
	}
}
