// Package redisson has code of docs/migrating.md.
package redisson

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/examples/internal/mixed"
)

type stock struct {
	Reserve func(ctx context.Context, sku string) error
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
	mixed.OneKey(t, "stock:tea", mixed.Redisson,
		func(rdb redis.UniversalClient) driver.Backend { return redissonlock.New(rdb, redissonlock.Config{}) },
		func(ctx context.Context, l *distlock.Locker, job func()) error {
			return after(ctx, l, stock{func(context.Context, string) error { job(); return nil }}, "tea")
		})
}
