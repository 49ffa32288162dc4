// Package klock has code of docs/migrating.md.
package klock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/examples/internal/mixed"
)

// Order is charged once at a time.
type Order struct{ ID int64 }

type bank struct{ Charge distlock.Func[Order, string] }

// klockKey makes the keys of klock: the name, and "-" before each part.
func klockKey(base string, params any) (string, error) {
	parts, ok := params.([]any)
	if !ok {
		parts = []any{params}
	}
	for _, part := range parts {
		base += fmt.Sprint("-", part)
	}
	return base, nil
}

func after(locker *distlock.Locker, bank bank) distlock.Func[Order, string] {
	pay := distlock.Wrap(locker, bank.Charge, distlock.Opts{
		Prefix: "lock.", Value: "pay",
		ParamLock: true,
		Params:    distlock.By(func(o Order) any { return o.ID }),
		MaxWait:   3 * time.Second,
		KeyFormat: klockKey, // lock.pay-42, while both run
	})
	return pay
}

func TestOneKey(t *testing.T) {
	mixed.OneKey(t, "lock.pay-42", mixed.Redisson,
		func(rdb redis.UniversalClient) driver.Backend { return redissonlock.New(rdb, redissonlock.Config{}) },
		func(ctx context.Context, l *distlock.Locker, job func()) error {
			_, err := after(l, bank{func(context.Context, Order) (string, error) { job(); return "paid", nil }})(ctx, Order{42})
			return err
		})
}
