package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	backend "github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// TestSharedRecord takes one key with this library and with each library that uses the
// same record. A lock of one excludes the other, and a release of one admits the other.
// The holder's name in our record makes no difference.
func TestSharedRecord(t *testing.T) {
	o, err := redis.ParseURL("redis://" + redistest.Start(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	defer c.Close()
	l := distlock.New(backend.New(c), distlock.Config{Holder: "web-3/1432"})
	defer l.Close()

	bsm := redislock.New(c)
	sync := redsync.New(goredis.NewPool(c))
	for name, try := range map[string]func(ctx context.Context, key string) (unlock func(context.Context) error, held bool, _ error){
		"bsm/redislock": func(ctx context.Context, key string) (func(context.Context) error, bool, error) {
			lock, err := bsm.Obtain(ctx, key, time.Minute, nil)
			if err != nil {
				return nil, errors.Is(err, redislock.ErrNotObtained), err
			}
			return lock.Release, false, nil
		},
		"redsync": func(ctx context.Context, key string) (func(context.Context) error, bool, error) {
			m := sync.NewMutex(key, redsync.WithExpiry(time.Minute), redsync.WithTries(1))
			if err := m.LockContext(ctx); err != nil {
				taken := new(redsync.ErrTaken)
				return nil, errors.As(err, &taken), err
			}
			return func(ctx context.Context) error { _, err := m.UnlockContext(ctx); return err }, false, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, key := t.Context(), "shared:"+name
			unlock, _, err := try(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			_, err = l.TryAcquire(ctx, key, distlock.Opts{})
			if held := new(distlock.HeldError); !errors.As(err, &held) || held.Holder != "" || held.RetryAfter <= 0 {
				t.Errorf("while %s has it: %v", name, err)
			}
			infos, err := admin.Inspect(ctx, l, key, 1)
			if err != nil || len(infos) != 1 || infos[0].Held != 1 || infos[0].Foreign != "" || infos[0].Holders[0].Holder != "" {
				t.Errorf("while %s has it: %+v, %v", name, infos, err)
			}
			if err := unlock(ctx); err != nil {
				t.Fatal(err)
			}

			lease, err := l.TryAcquire(ctx, key, distlock.Opts{})
			if err != nil {
				t.Fatal(err)
			}
			if _, held, err := try(ctx, key); !held {
				t.Errorf("%s while we have it: %v", name, err)
			}
			infos, err = admin.Inspect(ctx, l, key, 1)
			if err != nil || len(infos) != 1 || infos[0].Holders[0].Holder != "web-3/1432" {
				t.Errorf("while we have it: %+v, %v", infos, err)
			}
			if err := lease.Release(ctx); err != nil {
				t.Fatal(err)
			}
			if unlock, _, err = try(ctx, key); err != nil {
				t.Fatalf("%s when it is free again: %v", name, err)
			}
			if err := unlock(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}
