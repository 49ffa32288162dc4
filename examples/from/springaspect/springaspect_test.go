// Package springaspect has code of docs/migrating.md.
package springaspect

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

// stock is what both programs change.
type stock interface {
	Reserve(ctx context.Context, sku string) (string, error)
}

// stockFunc is a function as a stock.
type stockFunc func() string

func (f stockFunc) Reserve(context.Context, string) (string, error) { return f(), nil }

func newLocker(rdb redis.UniversalClient) *distlock.Locker {
	backend := redislock.New(rdb, redislock.WithFreeRelease())
	locker := distlock.New(backend, distlock.Config{})
	return locker
}

func after(locker *distlock.Locker, stock stock) distlock.Func[string, string] {
	reserve := distlock.Wrap(locker, stock.Reserve, distlock.Opts{
		Prefix: "shop:", Value: "reserve",
		ParamLock:     true,
		KeyTimeout:    10 * time.Second,
		RetryCount:    10,
		RetryInterval: 200 * time.Millisecond,
		KeyFormat:     javakey.Aspect, // the keys of the aspect, while both run
	})
	return reserve
}

// theirs is the key of the aspect: "tea".hashCode() is 114704.
const theirs = "shop:reserve-114704-locks"

func TestOneKey(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	locker := newLocker(rdb)
	defer locker.Close()

	taken := true // by the aspect
	reserve := after(locker, stockFunc(func() string {
		taken = rdb.SetNX(t.Context(), theirs, "5e9d4b0e-5d4c-4b5c-8b6d-0a5f3a8f2d11", time.Minute).Val()
		return "reserved"
	}))
	if got, err := reserve(t.Context(), "tea"); got != "reserved" || err != nil || taken {
		t.Errorf("reserve: %q, %v; the aspect got the lock: %t", got, err, taken)
	}
	if !rdb.SetNX(t.Context(), theirs, "5e9d4b0e-5d4c-4b5c-8b6d-0a5f3a8f2d11", time.Minute).Val() {
		t.Error("the aspect did not get the lock after the release")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := reserve(ctx, "tea"); got != "" || !errors.Is(err, distlock.ErrNotAcquired) {
		t.Errorf("reserve while the aspect has the lock: %q, %v", got, err)
	}
}
