// Package rueidislock has code of docs/migrating.md.
package rueidislock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func before(ctx context.Context, locker rueidislock.Locker, report mixed.Job) error {
	ctx, cancel, err := locker.WithContext(ctx, "report")
	if err != nil {
		return err
	}
	defer cancel()
	return report(ctx)
}

func after(ctx context.Context, locker *distlock.Locker, report mixed.Job) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

// between takes the three keys of a lock of rueidislock with its defaults.
func between(ctx context.Context, locker *distlock.Locker, report mixed.Job) error {
	return locker.DoAll(ctx, keys, distlock.Opts{}, report)
}

var keys = []string{"rueidislock:0:report", "rueidislock:1:report", "rueidislock:2:report"}

// TestBothAtOnce runs old and new processes at the same time. The old library has its
// defaults, but for a time limit that a slow machine meets. A lock and the key of its
// name do not see each other.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	server, locker := mixed.Redis(t)
	old, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{server.Addr()}},
		TryNextAfter: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(old.Close)
	mixed.Run(t,
		func(ctx context.Context, job mixed.Job) error { return before(ctx, old, job) },
		func(ctx context.Context, job mixed.Job) error { return between(ctx, locker, job) })
	testkit.WantIs(t, before(t.Context(), old, func(ctx context.Context) error {
		return after(ctx, locker, func(context.Context) error { return nil })
	}))
}
