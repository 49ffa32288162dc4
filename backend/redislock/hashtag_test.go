package redislock_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
)

// Inspect and ForceRelease know keys with a hash tag: held, and waited for. A name with two
// tags and the companions of other locks are not locks.
func TestInspectHashTag(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		ctx := t.Context()
		want := []string{"a{order}", "plain", "{a}:queue:b", "{order}:1", "{order}:2", "{order}:3"}
		for _, key := range want[:5] {
			mustTry(t, b, request(key))
		}
		waiter := request("{order}:1")
		waiter.Backoff = driver.NewBackoff(time.Millisecond, 2)
		_, err := b.Acquire(ctx, waiter)
		matches(t, "a waiter", err, driver.ErrNotAcquired)
		s.Set(ctx, "{order}:3", uuid.NewString(), time.Hour) // as Java programs write it
		s.Set(ctx, "{order}{1}", uuid.NewString(), time.Hour)
		s.ZAdd(ctx, "{x}:gone", redis.Z{Score: 1e18, Member: "r " + uuid.NewString()})

		expect(t, "listed", keysOf(mustInspect(t, b, "")), want)
		infos := mustInspect(t, b, "{order}:")
		expect(t, "with the prefix", keysOf(infos), want[3:])
		if infos[0].Held != 1 || infos[0].Waiting != 1 {
			t.Errorf("listed %+v", infos[0])
		}
		for _, key := range []string{"{order}:1", "{order}:3", "a{order}"} {
			if held, err := b.ForceRelease(ctx, key); !held || err != nil {
				t.Errorf("ForceRelease(%s): %v, %v", key, held, err)
			}
		}
		if infos := mustInspect(t, b, "{order}:1"); len(infos) != 1 || infos[0].Waiting != 0 || infos[0].Held != 1 {
			t.Errorf("the waiter has not been granted the key: %+v", infos)
		}
	})
}
