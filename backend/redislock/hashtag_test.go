package redislock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
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

	lockers := []*distlock.Locker{
		distlock.New(redislock.New(client, unhurried), distlock.Config{HandOverTime: -1}),
		distlock.New(redislock.New(redistest.ClusterClient(t, servers), unhurried), distlock.Config{HandOverTime: -1}),
	}
	for _, l := range lockers {
		t.Cleanup(func() { l.Close() })
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

	// While it is held, the key is the record that Java programs share.
	lease, err := lockers[0].Acquire(ctx, keys[0], distlock.Opts{})
	noError(t, err)
	if ok, err := client.SetNX(t.Context(), keys[0], uuid.NewString(), time.Minute).Result(); ok || err != nil {
		t.Errorf("SET NX beside the holder: %v, %v", ok, err)
	}
	noError(t, lease.Release(t.Context()))
}

// Inspect and ForceRelease know keys with a hash tag: held, and waited for.
func TestInspectHashTag(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		ctx := t.Context()
		var want []string
		for _, key := range []string{"{order}:1", "{order}:2", "a{order}", "{a}:queue:b", "plain"} {
			must(b.TryAcquire(ctx, request(key)))
			want = append(want, key)
		}
		slices.Sort(want)
		waiter := request("{order}:1")
		waiter.Backoff = driver.NewBackoff(time.Millisecond, 2)
		if _, err := b.Acquire(ctx, waiter); err == nil {
			t.Fatal("granted")
		}
		s.Set(ctx, "{order}:3", uuid.NewString(), time.Hour) // as Java programs write it
		want = append(want, "{order}:3")
		slices.Sort(want)
		// Not locks: a name with two tags, and the companions of other locks.
		s.Set(ctx, "{order}{1}", uuid.NewString(), time.Hour)
		s.ZAdd(ctx, "{x}:gone", redis.Z{Score: 1e18, Member: "r " + uuid.NewString()})

		if got := keysOf(mustInspect(t, b, "")); !slices.Equal(got, want) {
			t.Errorf("listed %q, want %q", got, want)
		}
		infos := mustInspect(t, b, "{order}:")
		if len(infos) != 3 || infos[0].Key != "{order}:1" || infos[0].Held != 1 || infos[0].Waiting != 1 {
			t.Errorf("listed %+v", infos)
		}
		if infos := mustInspect(t, b, "{order}:3"); len(infos) != 1 || infos[0].Held != 1 {
			t.Errorf("listed %+v", infos)
		}
		for _, key := range []string{"{order}:1", "{order}:3", "a{order}"} {
			if held, err := b.ForceRelease(ctx, key); !held || err != nil {
				t.Errorf("ForceRelease(%s): %v, %v", key, held, err)
			}
		}
		if key := mustInspect(t, b, "{order}:1"); len(key) != 1 || key[0].Waiting != 0 || key[0].Held != 1 {
			t.Errorf("the waiter has not been granted the key: %+v", key)
		}
	})
}

// A key that is a companion of another lock is refused before a command is sent, and so
// are braces that are not one hash tag.
func TestReservedKeys(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	b := newBackend(t, s.Client)
	l := distlock.New(newBackend(t, s.Client), distlock.Config{})
	defer l.Close()
	before := s.commandCalls(t, "evalsha") + s.commandCalls(t, "eval")
	for _, key := range []string{"{a}:queue", "{a}:gone", "{a}:token", "{a}:gone:x", "distlock:clock:{m2k}", "{a}{b}", "{}", "a}", "{a"} {
		if _, err := b.TryAcquire(t.Context(), request(key)); err == nil || errors.Is(err, driver.ErrNotAcquired) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
		if _, err := b.Acquire(t.Context(), request(key)); err == nil {
			t.Errorf("%s: granted", key)
		}
		if held, err := b.ForceRelease(t.Context(), key); held || err == nil {
			t.Errorf("ForceRelease(%s): %v, %v", key, held, err)
		}
		if held, err := b.Revoke(t.Context(), key); held || err == nil {
			t.Errorf("Revoke(%s): %v, %v", key, held, err)
		}
		if infos := mustInspect(t, b, key); len(infos) != 0 {
			t.Errorf("%s: %+v", key, infos)
		}
		if _, err := l.TryAcquire(t.Context(), key, distlock.Opts{}); err == nil {
			t.Errorf("%s: granted", key)
		}
	}
	if n := s.commandCalls(t, "evalsha") + s.commandCalls(t, "eval") - before; n != 0 {
		t.Errorf("%d scripts were sent", n)
	}
}
