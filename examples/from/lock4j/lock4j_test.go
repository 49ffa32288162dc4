// Package lock4j has code of docs/migrating.md.
package lock4j

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/javakey"
)

// Order is charged once at a time.
type Order struct{ ID int64 }

type bank interface {
	Charge(ctx context.Context, o Order) (string, error)
}

// bankFunc is a function as a bank.
type bankFunc func() string

func (f bankFunc) Charge(context.Context, Order) (string, error) { return f(), nil }

func newLocker(rdb redis.UniversalClient) *distlock.Locker {
	backend := redislock.New(rdb, redislock.Config{FreeRelease: true})
	locker := distlock.New(backend, distlock.Config{})
	return locker
}

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
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	locker := newLocker(rdb)
	defer locker.Close()

	const theirs = "lock4j:pay#42"
	taken := true // by lock4j
	pay := after(locker, bankFunc(func() string {
		taken = rdb.SetNX(t.Context(), theirs, "0a5f3a8f2d115e9d4b0e5d4c4b5c8b6d", time.Minute).Val()
		return "paid"
	}))
	if got, err := pay(t.Context(), Order{42}); got != "paid" || err != nil || taken {
		t.Errorf("pay: %q, %v; lock4j got the lock: %t", got, err, taken)
	}
	if !rdb.SetNX(t.Context(), theirs, "0a5f3a8f2d115e9d4b0e5d4c4b5c8b6d", time.Minute).Val() {
		t.Error("lock4j did not get the lock after the release")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := pay(ctx, Order{42}); got != "" || !errors.Is(err, distlock.ErrNotAcquired) {
		t.Errorf("pay while lock4j has the lock: %q, %v", got, err)
	}
}
