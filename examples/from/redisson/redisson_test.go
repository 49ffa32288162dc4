// Package redisson has code of docs/migrating.md.
package redisson

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redissonlock"
)

type stock interface {
	Reserve(ctx context.Context, sku string) error
}

// stockFunc is a function as a stock.
type stockFunc func()

func (f stockFunc) Reserve(context.Context, string) error {
	f()
	return nil
}

func newLocker(rdb redis.UniversalClient) *distlock.Locker {
	locker := distlock.New(redissonlock.New(rdb, redissonlock.Config{}), distlock.Config{})
	return locker
}

func after(ctx context.Context, locker *distlock.Locker, stock stock, sku string) error {
	return locker.Do(ctx, sku, distlock.Opts{
		Prefix:  "stock:",
		MaxWait: 3 * time.Second,
	}, func(ctx context.Context) error {
		return stock.Reserve(ctx, sku)
	})
}

func TestOneKey(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	locker := newLocker(rdb)
	defer locker.Close()

	const theirs = "stock:tea"
	var kind string
	reserve := stockFunc(func() { kind = rdb.Type(t.Context(), theirs).Val() })
	if err := after(t.Context(), locker, reserve, "tea"); err != nil || kind != "hash" {
		t.Errorf("%v; the key is a %s", err, kind)
	}
	rdb.HSet(t.Context(), theirs, "0a5f3a8f-2d11-5e9d-4b0e-5d4c4b5c8b6d:1", 1)
	rdb.PExpire(t.Context(), theirs, time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ran := false
	err := after(ctx, locker, stockFunc(func() { ran = true }), "tea")
	if ran || !errors.Is(err, distlock.ErrNotAcquired) {
		t.Errorf("while Redisson has the lock: %v; it ran: %t", err, ran)
	}
}
