// Package bsm has code of docs/migrating.md.
package bsm

import (
	"context"
	"testing"
	"time"

	bsm "github.com/bsm/redislock"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
)

func before(ctx context.Context, client *bsm.Client, report mixed.Job) error {
	lock, err := client.Obtain(ctx, "report", 10*time.Second, &bsm.Options{
		RetryStrategy: bsm.LinearBackoff(100 * time.Millisecond),
	})
	if err != nil {
		return err
	}
	defer lock.Release(context.WithoutCancel(ctx))
	return report(ctx) // has 10 s, and does not learn that they are over
}

func after(ctx context.Context, locker *distlock.Locker, report mixed.Job) error {
	return locker.Do(ctx, "report", distlock.Opts{MaxWait: 10 * time.Second}, report)
}

// TestBothAtOnce runs old and new processes at the same time, on one key.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	server, locker := mixed.Redis(t)
	client := bsm.New(server.Client(t))
	mixed.Run(t,
		func(ctx context.Context, job mixed.Job) error { return before(ctx, client, job) },
		func(ctx context.Context, job mixed.Job) error { return after(ctx, locker, job) })
}
