// Package mixed runs a job under the locks of two libraries, as in a fleet that moves
// from one to the other. Only tests import it.
package mixed

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Job is what runs under a lock.
type Job = func(ctx context.Context) error

const (
	goroutines = 3 // for each kind of lock
	turns      = 5 // for each goroutine
)

// Run runs a job under each kind of lock, three goroutines for each kind, five times
// each. The test fails if two jobs overlap, or if a lock fails.
func Run(t *testing.T, kinds ...func(ctx context.Context, job Job) error) {
	t.Helper()
	var users, runs atomic.Int32
	job := func(context.Context) error {
		defer users.Add(-1)
		if n := users.Add(1); n != 1 {
			t.Errorf("%d holders at the same time", n)
		}
		time.Sleep(time.Millisecond)
		runs.Add(1)
		return nil
	}
	var all sync.WaitGroup
	for i := range goroutines * len(kinds) {
		all.Go(func() {
			for range turns {
				if err := kinds[i%len(kinds)](t.Context(), job); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got, want := int(runs.Load()), turns*goroutines*len(kinds); got != want {
		t.Errorf("the job has run %d times, want %d", got, want)
	}
}

// Redis starts a server, and returns it with a Locker.
func Redis(t *testing.T) (*redistest.Server, *distlock.Locker) {
	t.Helper()
	server := redistest.Start(t)
	return server, testkit.NewLocker(t, redislock.New(server.Client(t), redislock.Config{}), distlock.Config{})
}

// Theirs takes the lock of another library with the commands that it sends, for a
// minute, and reports whether it got the lock.
type Theirs func(ctx context.Context, rdb redis.UniversalClient, key string) bool

// Value is the lock of libraries that set a key to a value.
func Value(value string) Theirs {
	return func(ctx context.Context, rdb redis.UniversalClient, key string) bool {
		return rdb.SetNX(ctx, key, value, time.Minute).Val()
	}
}

// Redisson is the lock of Redisson.
func Redisson(ctx context.Context, rdb redis.UniversalClient, key string) bool {
	if rdb.Exists(ctx, key).Val() > 0 {
		return false
	}
	rdb.HSet(ctx, key, "0a5f3a8f-2d11-5e9d-4b0e-5d4c4b5c8b6d:1", 1)
	return rdb.PExpire(ctx, key, time.Minute).Val()
}

// OneKey checks that theirs and ours exclude each other, and that theirs is free after
// ours.
func OneKey(t *testing.T, key string, theirs Theirs, backend func(redis.UniversalClient) driver.Backend, ours func(ctx context.Context, l *distlock.Locker, job func()) error) {
	t.Helper()
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	l := testkit.NewLocker(t, backend(rdb), distlock.Config{})
	ran := 0
	err := ours(t.Context(), l, func() {
		ran++
		if theirs(t.Context(), rdb, key) {
			t.Error("theirs is not excluded")
		}
	})
	if err != nil || ran != 1 {
		t.Errorf("ours ran %d times, %v", ran, err)
	}
	if !theirs(t.Context(), rdb, key) {
		t.Error("theirs does not get the lock after the release")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := ours(ctx, l, func() { ran++ }); ran != 1 || !errors.Is(err, distlock.ErrNotAcquired) {
		t.Errorf("while theirs has it: %v, ran %d times", err, ran)
	}
}
