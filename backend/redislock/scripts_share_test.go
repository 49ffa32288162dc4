package redislock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

func TestScriptShareTogether(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		from := s.now()
		_, last := s.join("a1", reads)
		if last < from || last > s.now() {
			t.Errorf("the token is %d instead of the time %d", last, from)
		}
		if second, _ := s.join("b1", reads); second <= last {
			t.Errorf("token %d after %d", second, last)
		}
		s.holders("r a1", "r b1")
		s.queue()
		s.ttl(lockKey, testTTL)
		ends := int64(s.ZScore(t.Context(), lockKey, "r a1").Val())
		if at := from + testTTL.Microseconds(); ends < at || ends > at+5e6 {
			t.Errorf("the lease of the first ends at %d instead of %d", ends, at)
		}

		s.unchanged(func() { near(t, "left for a writer", s.busy("c1", false), testTTL) })
		s.leave("a1", reads, 1)
		s.busy("c1", false)
		s.leave("b1", reads, 1)
		s.take("c1")
		s.holder("c1")
	})
}

// The key expires with the last of its holders, also when that changes.
func TestScriptShareKeyEndsWithTheLast(t *testing.T) {
	eachScripts(t, func(_ *testing.T, s scripts) {
		s.join("a1", reads)
		s.ends("r a1", time.Minute)
		s.join("b1", reads)
		s.ttl(lockKey, time.Minute)
		s.leave("a1", reads, 1)
		s.ttl(lockKey, testTTL)
	})
}

// A holder that repeats its attempt gets larger tokens, and keeps its place.
func TestScriptShareRepeat(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		_, last := s.join("a1", reads)
		s.ends("r a1", time.Second)
		again, until := s.join("a1", reads)
		if again <= last {
			t.Errorf("token %d after %d", again, last)
		}
		s.ttl(lockKey, testTTL)
		s.lease("r a1", testTTL)

		_, other := s.join("b1", reads)
		if again, _ := s.join("a1", reads); other <= until || again <= other {
			t.Errorf("token %d after %d and %d", again, other, until)
		}
		s.busy("c1", true)
		s.join("a1", reads)
		s.holders("r a1", "r b1")
		s.queue("c:c1")
	})
}

// A holder with an expired lease does not count, for any request.
func TestScriptExpiredHolders(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.join("a1", reads)
		s.join("b1", reads)
		s.ends("r a1", 0)
		s.leave("a1", reads, 0)
		s.holders("r b1")
		s.ends("r b1", 0)
		s.take("c1") // no holder is left
		s.holder("c1")
		s.release("c1", 1)

		// It makes room for a permit.
		s.join("d1", "p1")
		s.kept("e1", "p1", true)
		s.ends("p d1", 0)
		s.kept("f1", "p1", true) // helps the first
		s.holders("p e1")
		expect(t, "messages", heard(), []string{"in:e e1"})
		s.ends("p e1", 0)
		s.busy("g1", false) // helps the first, too
		s.holders("p f1")
		expect(t, "messages", heard(), []string{"in:f f1"})

		// So does a holder that releases too late.
		s.busy("h1", true)
		s.ends("p f1", 0)
		s.leave("f1", "p1", 2)
		s.holder("h1")
		expect(t, "messages", heard(), []string{"in:h h1"})

		// A holder that returns after its lease is a newcomer.
		s.release("h1", 1)
		_, last := s.join("i1", reads)
		_, other := s.join("j1", reads)
		s.ends("r i1", 0)
		if first, _ := s.join("i1", reads); first <= last || first <= other {
			t.Errorf("token %d after %d and %d", first, last, other)
		}
	})
}

// A waiter is told when the first lease ends, and a single attempt when all may have
// ended.
func TestScriptShareTimeLeft(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.join("a1", reads)
		s.join("b1", reads)
		s.join("c1", reads)
		s.ends("r a1", 2*time.Second)
		s.ends("r b1", 20*time.Second)
		near(t, "left for a waiter", s.busy("d1", true), 2*time.Second)
		near(t, "left for one attempt", s.busy("e1", false), 20*time.Second)
		near(t, "left for a permit", s.kept("e1", "p9", false), 20*time.Second)
	})
}

func TestScriptRenewShared(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		ctx := t.Context()
		s.join("a1", reads)
		s.join("b1", reads)
		s.join("c1", reads)
		s.ends("r b1", 30*time.Second)
		s.ends("r c1", -time.Microsecond)
		s.Set(ctx, "k2", "r a1", time.Minute)
		s.RPush(ctx, "k3", "r a1")
		renew := func(ttl time.Duration, retain bool) {
			t.Helper()
			var ops []redislock.ScriptOp
			for _, o := range [][3]string{
				{lockKey, "a1", reads}, {"k2", "a1", reads}, {"k3", "a1", reads}, {"k4", "a1", reads},
				{lockKey, "a1", "p2"}, {lockKey, "c1", reads}, {lockKey, "d1", reads}, {lockKey, "a1", ""},
			} {
				ops = append(ops, redislock.ScriptOp{Key: o[0], Owner: o[1], Share: o[2], TTL: ttl, Retain: retain})
			}
			s.renewed([]string{"1", "0", "0", "0", "0", "0", "0", "0"}, ops...)
		}
		renew(20*time.Second, false)
		s.lease("r a1", 20*time.Second)
		s.lease("r b1", 30*time.Second)
		s.ttl(lockKey, 30*time.Second)
		renew(60*time.Second, false)
		s.ttl(lockKey, 60*time.Second)
		renew(10*time.Second, false) // late
		s.lease("r a1", 60*time.Second)
		s.ttl(lockKey, 60*time.Second)
		renew(10*time.Second, true)
		s.lease("r a1", 10*time.Second)
		s.ttl(lockKey, 30*time.Second)
		if n := s.Exists(ctx, "k4").Val(); n != 0 {
			t.Error("a lock that was gone was created")
		}
		if got := s.ZCard(ctx, lockKey).Val(); got != 3 {
			t.Errorf("%d members instead of 3: a renewal adds none", got)
		}
		s.holdersAfter("r a1", "r b1")
	})
}

func TestScriptShareTokens(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		var highest int64
		rises := func(first, last int64) {
			t.Helper()
			if first <= highest || last < first {
				t.Fatalf("tokens %d..%d after %d", first, last, highest)
			}
			highest = last
		}
		for i := range 20 {
			a, b, c := fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("c", i)
			rises(s.join(a, reads))
			rises(s.join(b, reads))
			s.leave(b, reads, 1)
			s.leave(a, reads, 1)
			rises(s.take(c))
			s.release(c, 1)
			rises(s.join(a+"p", "p2"))
			rises(s.join(b+"p", "p2"))
			s.leave(a+"p", "p2", 1)
			s.leave(b+"p", "p2", 1)
			if i == 10 {
				s.Del(t.Context(), redislock.ClockKey) // the next token is the time
			}
		}
		if highest > s.now() {
			t.Errorf("token %d is ahead of the time %d", highest, s.now())
		}
	})
}

// A foreign value at the key is not changed.
func TestScriptShareForeign(t *testing.T) {
	for name, set := range map[string]func(s scripts){
		"list":       func(s scripts) { s.RPush(s.t.Context(), lockKey, "x", "y") },
		"hash":       func(s scripts) { s.HSet(s.t.Context(), lockKey, "x", "y") },
		"sorted set": func(s scripts) { s.ZAdd(s.t.Context(), lockKey, redis.Z{Score: 1, Member: "x"}) },
		"first foreign": func(s scripts) {
			s.ZAdd(s.t.Context(), lockKey, redis.Z{Score: 1, Member: "x"}, redis.Z{Score: 2, Member: "r a1"})
		},
		"last foreign": func(s scripts) {
			s.ZAdd(s.t.Context(), lockKey, redis.Z{Score: 1, Member: "r a1"}, redis.Z{Score: 9e15, Member: "x"})
		},
		"almost like us": func(s scripts) { s.ZAdd(s.t.Context(), lockKey, redis.Z{Score: 9e15, Member: "r a b"}) },
	} {
		t.Run(name, func(t *testing.T) {
			eachScripts(t, func(_ *testing.T, s scripts) {
				set(s)
				s.unchanged(func() {
					s.refused("a1", "WRONGTYPE")
					s.refusedShare("a1", reads, "WRONGTYPE")
					s.leave("b1", reads, 0)
					s.release("a1", 0)
					s.renewed([]string{"0"}, redislock.ScriptOp{Key: lockKey, Owner: "b1", TTL: testTTL, Share: reads})
				})
			})
		})
	}
}

func TestScriptShareOutOfMemory(t *testing.T) {
	t.Parallel()
	eachVariant(t, func(t *testing.T, v variant) {
		s := scripts{server: realServer(t, "--maxmemory-policy", "noeviction"), t: t}
		s.variant = v
		heard := s.hear()
		s.join("a1", reads)
		s.busy("b1", true)
		s.kept("c1", reads, true)
		s.fill()
		s.unchanged(func() {
			for _, mode := range []string{"try", "enqueue"} {
				_, err := s.run(acquires, redislock.ScriptOp{Key: "other", Owner: "c2", TTL: time.Second, Mode: mode, Share: reads})
				if !isFull(err) {
					t.Errorf("share on a full server: %v", err)
				}
			}
			if _, err := s.try("d1", reads, true); !isFull(err) {
				t.Errorf("queueing on a full server: %v", err)
			}
		})
		s.renewed([]string{"1"}, redislock.ScriptOp{Key: lockKey, Owner: "a1", TTL: 2 * testTTL, Share: reads})
		s.ttl(lockKey, 2*testTTL)
		s.leave("a1", reads, 1)
		s.holder("b1")
		s.take("b1")
		s.release("b1", 1)
		s.holders("r c1")
		s.join("c1", reads)
		s.leave("c1", reads, 1)
		expect(t, "messages", heard(), []string{"in:b b1", "in:c c1"})
	})
}
