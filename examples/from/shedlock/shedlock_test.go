// Package shedlock has code of docs/migrating.md.
package shedlock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func report(ctx context.Context, locker *distlock.Locker, write mixed.Job) error {
	err := locker.Do(ctx, "report", distlock.Opts{
		Prefix:     "job-lock:prod:", // ShedLock's keys in the environment "prod"
		RetryCount: 1,                // skip
		MinHold:    10 * time.Minute,
		MaxHold:    time.Hour,
	}, write)
	if distlock.CodeOf(err) == distlock.CodeNotAcquired {
		return nil // another process writes the report, or has just written it
	}
	return err
}

// TestOneKey: the report is written when ShedLock has ended, and ShedLock gets no lock
// within MinHold.
func TestOneKey(t *testing.T) {
	testkit.InBubble(t, "report", func(t *testing.T) {
		var rdb redis.UniversalClient = redistest.VirtualClient(t, redistest.Virtual(t))
		locker := testkit.NewLocker(t, redislock.New(rdb, redislock.Config{}), distlock.Config{})
		theirs := mixed.Value("ADDED:2026-11-22T03:00:00.000Z@web-3:5e9d4b0e-5d4c-4b5c-8b6d-0a5f3a8f2d11")
		take := func() bool { return theirs(t.Context(), rdb, "job-lock:prod:report") }
		written := 0
		for i, want := range []int{0, 1, 1} {
			if i == 0 && !take() {
				t.Error("ShedLock did not get its lock")
			}
			err := report(t.Context(), locker, func(context.Context) error { written++; return nil })
			if err != nil || written != want || take() {
				t.Errorf("run %d: %v, written %d times, want %d", i, err, written, want)
			}
			time.Sleep(2 * time.Minute) // ShedLock's lock was for one
		}
	})
}
