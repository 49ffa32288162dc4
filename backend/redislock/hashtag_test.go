package redislock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// javaSlots are slots as Java clients compute them: redis.clients.jedis.util.JedisClusterCRC16.getSlot
// of Jedis 7.5.3.
var javaSlots = map[string]int{
	"{order}:1": 16025, "{order}{{order}:1}:queue": 16025, "order": 16025, "a{b}c": 3300, "{🔑}:1": 3314, "stock:{4711}:eu": 14075, "plain:key": 2456,
}

// In a Cluster, keys with a hash tag are locked in the slot of their tag, where Java clients
// look for them: by two processes, with waiters, renewals and all kinds of requests.
func TestHashTagInACluster(t *testing.T) {
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	client := redistest.ClusterClient(t, servers)
	for key, want := range javaSlots {
		if got := int(client.ClusterKeySlot(t.Context(), key).Val()); got != want || slotOf(key) != want {
			t.Errorf("%s: slot %d in the Cluster, %d in this test, %d in Java", key, got, slotOf(key), want)
		}
	}

	var lockers []*distlock.Locker
	for range 2 {
		b := redislock.New(redistest.ClusterClient(t, servers), unhurried)
		lockers = append(lockers, testkit.NewLocker(t, b, distlock.Config{HandOverTime: -1}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // only a failing test takes that long
	defer cancel()
	keys := []string{"{order}:1", "{order}:2", "a{b}c", "{🔑}:1", "stock:{4711}:eu"}
	modes := []distlock.Opts{{}, {Mode: driver.Shared}, {Permits: 2}}
	var all sync.WaitGroup
	for i, key := range keys {
		for w := range 6 {
			all.Go(func() {
				for turn := range 5 {
					o := modes[(i+turn)%len(modes)]
					if err := lockers[w%2].Do(ctx, key, o, func(ctx context.Context) error {
						lease, _ := distlock.FromContext(ctx)
						return lease.Refresh(ctx)
					}); err != nil {
						t.Errorf("%s: %v", key, err)
					}
				}
			})
		}
	}
	all.Wait()
	nothingLeft(t, servers...)
	used, clocks := make(map[int]bool), 0
	for _, key := range keys {
		used[slotOf(key)] = true
	}
	for _, s := range servers {
		clocks += len(s.Client(t).Keys(t.Context(), clockKey+"*").Val())
	}
	if clocks != len(used) {
		t.Errorf("%d clocks are left of %d slots", clocks, len(used))
	}

	// While it is held, the key is the record that Java programs share.
	lease, err := lockers[0].Acquire(ctx, keys[0], distlock.Opts{})
	noError(t, err)
	if ok, err := client.SetNX(t.Context(), keys[0], uuid.NewString(), time.Minute).Result(); ok || err != nil {
		t.Errorf("SET NX beside the holder: %v, %v", ok, err)
	}
	noError(t, lease.Release(t.Context()))
}

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
