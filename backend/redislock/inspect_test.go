package redislock_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func mustInspect(t *testing.T, b *redislock.Backend, prefix string) []driver.KeyInfo {
	t.Helper()
	infos, err := b.Inspect(t.Context(), prefix, 10_000)
	if err != nil {
		t.Fatalf("Inspect(%q): %v", prefix, err)
	}
	return infos
}

func keysOf(infos []driver.KeyInfo) (keys []string) {
	for _, info := range infos {
		keys = append(keys, info.Key)
	}
	return keys
}

// A prefix lists locks: of this package, and strings that look like those of other
// libraries. The exact key shows any value that blocks the lock, with its type. Only
// what is a lock for certain can be taken away, and nothing else changes. A waiter
// proves nothing.
func TestInspectAndForce(t *testing.T) {
	const listed, shown = true, false // by its prefix, or by its exact key only
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		ctx := t.Context()
		mine := request("shop:mine")
		mine.Owner += "@web-3/1432"
		g := mustTry(t, b, mine)
		cases := map[string]struct {
			put             func(key string) redis.Cmder
			foreign, holder string
			ends            bool
			listed, force   bool
		}{
			"mine":   {nil, "", "web-3/1432", true, listed, true},
			"aspect": {func(key string) redis.Cmder { return s.Set(ctx, key, uuid.NewString(), time.Hour) }, "", "", true, listed, true},
			"named": {func(key string) redis.Cmder {
				return s.Set(ctx, key, uuid.NewString()+"@web-3.example/1432", time.Hour)
			},
				"", "web-3.example/1432", true, listed, true},
			"busy":     {func(key string) redis.Cmder { return s.Set(ctx, key, "redsync", time.Hour) }, "", "", true, listed, false},
			"shedlock": {func(key string) redis.Cmder { return s.Set(ctx, key, "ADDED:2026-11-22@web-3", time.Hour) }, "", "", true, shown, false},
			"id":       {func(key string) redis.Cmder { return s.Set(ctx, key, uuid.NewString(), 0) }, "string", "", false, listed, false}, // as waited for
			"hash":     {func(key string) redis.Cmder { return s.HSet(ctx, key, "a", "1") }, "hash", "", false, shown, false},
			"list":     {func(key string) redis.Cmder { return s.RPush(ctx, key, "a") }, "list", "", false, shown, false},
			"scores":   {func(key string) redis.Cmder { return s.ZAdd(ctx, key, redis.Z{Score: 1e18, Member: "alice"}) }, "zset", "", false, shown, false},
			"mixed": {func(key string) redis.Cmder {
				return s.ZAdd(ctx, key, redis.Z{Score: 1e18, Member: "r alice"}, redis.Z{Score: 2e18, Member: "alice"})
			}, "zset", "", false, shown, false},
		}
		var want []string
		for name, c := range cases {
			if c.put != nil {
				noError(t, c.put("shop:"+name).Err())
			}
			if c.listed {
				want = append(want, "shop:"+name)
			}
		}
		for _, key := range []string{"shop:busy", "shop:id"} {
			r := request(key)
			_, err := testkit.Await(ctx, b, r, testkit.Looks{Every: time.Millisecond, Attempts: 2})
			matches(t, "a waiter", err, driver.ErrNotAcquired)
		}
		noError(t, s.Set(ctx, "{brace", "a", time.Hour).Err())

		infos := mustInspect(t, b, "shop:")
		slices.Sort(want)
		expect(t, "listed", keysOf(infos), want)
		if strings.Contains(fmt.Sprintf("%+v", infos), g.Owner) {
			t.Error("an owner is shown")
		}
		for name, c := range cases {
			key := "shop:" + name
			before := s.contents(t)
			infos := mustInspect(t, b, key)
			if len(infos) != 1 || infos[0].Key != key || infos[0].Held != 1 || len(infos[0].Holders) != 1 {
				t.Errorf("%s: %+v", key, infos)
				continue
			}
			info, h := infos[0], infos[0].Holders[0]
			if info.Foreign != c.foreign || h.Holder != c.holder || h.ExpiresIn > 0 != c.ends || h.ExpiresIn > time.Hour || info.Waiting == 1 != (name == "busy" || name == "id") {
				t.Errorf("%s: %+v", key, info)
			}
			if isMine := name == "mine"; isMine != (h.LastToken == g.Token) || isMine == h.Since.IsZero() {
				t.Errorf("%s has the token %d since %v, want %d", key, h.LastToken, h.Since, g.Token)
			}
			held, err := b.ForceRelease(ctx, key)
			if held != c.force || errors.Is(err, driver.ErrForeign) == c.force {
				t.Errorf("ForceRelease(%q): %v, %v", key, held, err)
			}
			if !c.force && !maps.Equal(s.contents(t), before) {
				t.Errorf("ForceRelease(%q) changed something", key)
			}
		}
		for _, key := range []string{"shop:none", "{brace"} {
			if infos := mustInspect(t, b, key); len(infos) != 0 {
				t.Errorf("%s: %+v", key, infos)
			}
		}
		if held, err := b.ForceRelease(ctx, "shop:none"); held || err != nil {
			t.Errorf("ForceRelease of nothing: %v, %v", held, err)
		}
	})
}

// Inspect lists the places in the order of their tickets, since when each waits, and
// none of an entry of another form. Revoke reads none of them.
func TestInspectWaiters(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		ctx := t.Context()
		b := newBackend(t, s.Client)
		mustTry(t, b, request("shop:a"))
		waiters := make([]redis.Z, 1000)
		for i := range waiters {
			// In the order of names the last would be the first.
			waiters[i] = redis.Z{Score: 1e15 + float64(i), Member: fmt.Sprintf("inbox:%08d-7c1e-4e59-8a86-7d1d1a4b7c11@web-%d", 1000-i, i)}
		}
		waiters[1].Member = waiters[1].Member.(string) + " r"
		waiters[2].Member = waiters[2].Member.(string) + " p40"
		waiters[3].Member = "inbox:"
		waiters[4].Member = waiters[4].Member.(string) + " w"
		waiters[5].Member = "nameless:" + uuid.NewString()
		must(s.ZAdd(ctx, "{shop:a}:queue", waiters...).Result())
		infos := mustInspect(t, b, "shop:a")
		if len(infos) != 1 || infos[0].Waiting != 1000 || len(infos[0].Waiters) != 14 {
			t.Fatalf("listed %+v", infos)
		}
		var got []string
		for _, w := range infos[0].Waiters[:6] {
			got = append(got, fmt.Sprint(w.Waiter, " ", w.ModeName(), " ", w.Permits, " ", w.Since.UnixMicro()-1e15))
		}
		expect(t, "waiters", got, []string{
			"web-0 exclusive 0 0", "web-1 shared 0 1", "web-2 permits 40 2", " exclusive 0 5", "web-6 exclusive 0 6", "web-7 exclusive 0 7",
		})
		if held, err := b.Revoke(ctx, "shop:a"); !held || err != nil {
			t.Errorf("Revoke: %v, %v", held, err)
		}
	})
}

// A repeated order, after a lost reply, does not affect the next holder. A late attempt
// by the old holder fails.
func TestScriptForceRepeated(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		s.t = t
		force := func(order, want string) {
			t.Helper()
			lines, err := s.run(forces, redislock.ScriptOp{Key: lockKey, Owner: order})
			if err != nil || lines[0] != want {
				t.Errorf("%s: %q, %v", order, lines, err)
			}
		}
		s.join("a1", writes)
		s.kept("b1", writes, true)
		for range 3 {
			force("order1", "1")
			s.holder("b1")
		}
		s.join("b1", writes)
		force("order1", "1")
		s.holder("b1")
		force("order2", "1")
		s.holder("")
		force("order3", "2")
		s.refused("b1", writes, "GONE")
	})
}

// A lock without a holder, because a message was lost, goes to the waiter. What is held
// is taken away also if the server is full.
func TestForceReleaseOfNobodys(t *testing.T) {
	t.Parallel()
	s := realServer(t, "--maxmemory-policy", "noeviction")
	s.t = t
	s.join("a1", writes)
	s.kept("b1", writes, true)
	s.kept("c1", writes, true)
	s.Del(t.Context(), lockKey)
	b := newBackend(t, s.Client)
	if infos := mustInspect(t, b, lockKey); len(infos) != 1 || infos[0].Held != 0 || infos[0].Waiting != 2 {
		t.Errorf("listed %+v", infos)
	}
	for _, owner := range []string{"b1", "c1"} {
		if held, err := b.ForceRelease(t.Context(), lockKey); held != (owner == "c1") || err != nil {
			t.Errorf("ForceRelease: %v, %v", held, err)
		}
		s.holder(owner)
		s.fill()
	}
}

// More keys than one reply of SCAN has, among keys that are not locks.
func TestInspectMany(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		pipe := s.Pipeline()
		for i := range 3000 {
			pipe.Set(t.Context(), fmt.Sprint("data:", i), "x", time.Hour)
			if i%10 == 0 {
				pipe.Set(t.Context(), fmt.Sprint("lock:", i), uuid.NewString(), time.Hour)
			}
		}
		must(pipe.Exec(t.Context()))
		for _, prefix := range []string{"lock:", ""} {
			if n := len(mustInspect(t, b, prefix)); n != 300 {
				t.Errorf("%d locks with the prefix %q, want 300", n, prefix)
			}
		}
		if infos, err := b.Inspect(t.Context(), "lock:", 7); err != nil || len(infos) != 7 {
			t.Errorf("%d locks, want 7; %v", len(infos), err)
		}
	})
}

// Inspect and ForceRelease know keys with a hash tag: held, and waited for. A name with
// two tags and the companions of other locks are not locks.
func TestInspectHashTag(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		ctx := t.Context()
		want := []string{"a{order}", "plain", "{a}:queue:b", "{order}:1", "{order}:2", "{order}:3"}
		for _, key := range want[:5] {
			mustTry(t, b, request(key))
		}
		waiter := request("{order}:1")
		_, err := testkit.Await(ctx, b, waiter, testkit.Looks{Every: time.Millisecond, Attempts: 2})
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
		// A library with one value for all its locks takes the key again, although its
		// owner has a tombstone.
		again := s.Get(ctx, "{order}{1}").Val()
		s.ZAdd(ctx, "{order}{{order}:3}:gone", redis.Z{Score: float64(time.Now().UnixMicro()), Member: again})
		s.Set(ctx, "{order}:3", again, time.Hour)
		if infos := mustInspect(t, b, "{order}:3"); len(infos) != 1 || infos[0].Held != 1 {
			t.Errorf("listed %+v", infos)
		}
	})
}
