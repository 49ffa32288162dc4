// Package klock has code of docs/migrating.md.
package klock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redissonlock"
)

// Order is charged once at a time.
type Order struct{ ID int64 }

type bank interface {
	Charge(ctx context.Context, o Order) (string, error)
}

// bankFunc is a function as a bank.
type bankFunc func() string

func (f bankFunc) Charge(context.Context, Order) (string, error) { return f(), nil }

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

func newLocker(rdb redis.UniversalClient) *distlock.Locker {
	locker := distlock.New(redissonlock.New(rdb, redissonlock.Config{}), distlock.Config{})
	return locker
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
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	locker := newLocker(rdb)
	defer locker.Close()

	const theirs = "lock.pay-42"
	var kind string
	pay := after(locker, bankFunc(func() string {
		kind = rdb.Type(t.Context(), theirs).Val()
		return "paid"
	}))
	if got, err := pay(t.Context(), Order{42}); got != "paid" || err != nil || kind != "hash" {
		t.Errorf("pay: %q, %v; the key is a %s", got, err, kind)
	}
	rdb.HSet(t.Context(), theirs, "0a5f3a8f-2d11-5e9d-4b0e-5d4c4b5c8b6d:1", 1)
	rdb.PExpire(t.Context(), theirs, time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := pay(ctx, Order{42}); got != "" || !errors.Is(err, distlock.ErrNotAcquired) {
		t.Errorf("pay while klock has the lock: %q, %v", got, err)
	}
}
