// Package lock4j has code of docs/migrating.md.
package lock4j

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/examples/internal/mixed"
	"github.com/distlock-go/distlock/javakey"
)

// Order is charged once at a time.
type Order struct{ ID int64 }

type bank struct{ Charge distlock.Func[Order, string] }

func after(locker *distlock.Locker, bank bank) distlock.Func[Order, string] {
	pay := distlock.Wrap(locker, bank.Charge, distlock.Opts{
		Value:     "pay",
		ParamLock: true,
		Params:    distlock.By(func(o Order) any { return o.ID }),
		MaxWait:   3 * time.Second,
		KeyFormat: javakey.Lock4j, // lock4j:pay#42, while both run
	})
	return pay
}

func TestOneKey(t *testing.T) {
	mixed.OneKey(t, "lock4j:pay#42", mixed.Value("0a5f3a8f2d115e9d4b0e5d4c4b5c8b6d"),
		func(rdb redis.UniversalClient) driver.Backend {
			return redislock.New(rdb, redislock.Config{FreeRelease: true})
		},
		func(ctx context.Context, l *distlock.Locker, job func()) error {
			_, err := after(l, bank{func(context.Context, Order) (string, error) { job(); return "paid", nil }})(ctx, Order{42})
			return err
		})
}
