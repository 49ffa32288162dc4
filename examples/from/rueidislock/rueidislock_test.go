// Package rueidislock has code of docs/migrating.md.
package rueidislock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

func before(ctx context.Context, locker rueidislock.Locker, report func(context.Context) error) error {
	ctx, cancel, err := locker.WithContext(ctx, "report")
	if err != nil {
		return err
	}
	defer cancel()
	return report(ctx)
}

func after(ctx context.Context, locker *distlock.Locker, report func(context.Context) error) error {
	return locker.Do(ctx, "report", distlock.Opts{}, report)
}

func newLocker(client *redis.Client) *distlock.Locker {
	return distlock.New(redislock.New(client, redislock.Config{}), distlock.Config{})
}

// between takes the three keys of a lock of rueidislock with its defaults.
func between(ctx context.Context, locker *distlock.Locker, report func(context.Context) error) error {
	return locker.DoAll(ctx, keys, distlock.Opts{}, report)
}

var keys = []string{"rueidislock:0:report", "rueidislock:1:report", "rueidislock:2:report"}

// start returns the old and the new library on one server. The old one has its defaults,
// but for a time limit that a slow machine meets.
func start(t *testing.T) (rueidislock.Locker, *distlock.Locker) {
	t.Helper()
	server := redistest.Start(t)
	old, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{server.Addr()}},
		TryNextAfter: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(old.Close)
	locker := newLocker(server.Client(t))
	t.Cleanup(func() { _ = locker.Close() })
	return old, locker
}

// TestBothAtOnce runs old and new processes at the same time.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	old, locker := start(t)
	if err := mixed.Run(t.Context(),
		func(ctx context.Context, job mixed.Job) error { return before(ctx, old, job) },
		func(ctx context.Context, job mixed.Job) error { return between(ctx, locker, job) },
	); err != nil {
		t.Error(err)
	}
}

// TestBlind: the lock and the key of one name do not see each other.
func TestBlind(t *testing.T) {
	t.Parallel()
	old, locker := start(t)
	err := before(t.Context(), old, func(ctx context.Context) error {
		return after(ctx, locker, func(context.Context) error { return nil })
	})
	if err != nil {
		t.Error(err)
	}
}
