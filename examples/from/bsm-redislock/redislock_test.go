// Package bsm has code of docs/migrating.md.
package bsm

import (
	"context"
	"errors"
	"strings"
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
	return distlock.New(redislock.New(client), distlock.Config{})
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

// TestErrors pins what the page says of errors: of a busy key, of a wait that the context
// ends, of a lock that is gone, and of a shared lock.
func TestErrors(t *testing.T) {
	t.Parallel()
	client, locker := start(t)
	never := func(context.Context) error { t.Error("it has run"); return nil }
	if err := after(t.Context(), locker, func(ctx context.Context) error {
		if _, err := client.Obtain(ctx, "report", time.Second, nil); !errors.Is(err, bsm.ErrNotObtained) {
			t.Errorf("Obtain without a strategy: %v", err)
		}
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if err := before(short, client, never); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, bsm.ErrNotObtained) {
			t.Errorf("Obtain until the context ends: %v", err)
		}
		another, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // ctx would re-enter
		defer cancel()
		err := after(another, locker, never)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, distlock.ErrNotAcquired) {
			t.Errorf("Do until the context ends: %v", err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}

	lock, err := client.Obtain(t.Context(), "report", 20*time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := after(t.Context(), locker, func(ctx context.Context) error { // as soon as it has expired
		if err := lock.Refresh(ctx, time.Minute, nil); !errors.Is(err, bsm.ErrNotObtained) {
			t.Errorf("Refresh of a lock that is gone: %v", err)
		}
		if err := lock.Release(ctx); !errors.Is(err, bsm.ErrLockNotHeld) {
			t.Errorf("Release of a lock that is gone: %v", err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}

	reader, err := locker.Acquire(t.Context(), "report", distlock.Opts{Mode: distlock.Shared})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Obtain(t.Context(), "report", time.Second, nil); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("Obtain of a shared lock: %v", err)
	}
	if err := reader.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
