// Package shedlock has code of docs/migrating.md.
package shedlock

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
)

func newLocker(rdb redis.UniversalClient) *distlock.Locker {
	locker := distlock.New(redislock.New(rdb, redislock.Config{}), distlock.Config{})
	return locker
}

func report(ctx context.Context, locker *distlock.Locker, write func(context.Context) error) error {
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

func TestOneKey(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	locker := newLocker(rdb)
	defer locker.Close()

	const theirs, value = "job-lock:prod:report", "ADDED:2026-11-22T03:00:00.000Z@web-3:5e9d4b0e-5d4c-4b5c-8b6d-0a5f3a8f2d11"
	written := 0
	write := func(context.Context) error {
		written++
		return nil
	}
	if !rdb.SetNX(t.Context(), theirs, value, time.Hour).Val() {
		t.Fatal("ShedLock did not get its lock")
	}
	if err := report(t.Context(), locker, write); err != nil || written != 0 {
		t.Errorf("beside ShedLock: %v, written %d times", err, written)
	}
	rdb.Del(t.Context(), theirs)
	if err := report(t.Context(), locker, write); err != nil || written != 1 {
		t.Errorf("alone: %v, written %d times", err, written)
	}
	if rdb.SetNX(t.Context(), theirs, value, time.Hour).Val() {
		t.Error("ShedLock got the lock within MinHold")
	}
	if err := report(t.Context(), locker, write); err != nil || written != 1 {
		t.Errorf("within MinHold: %v, written %d times", err, written)
	}
}
