package redislock_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

func TestScriptShareTogether(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		from := s.now()
		first, last := s.join("a1", reads)
		if first != last || first < from || first > s.now() {
			t.Errorf("the first tokens are %d..%d instead of the one time %d", first, last, from)
		}
		if second, _ := s.join("b1", reads); second <= last {
			t.Errorf("token %d after %d", second, last)
		}
		s.holders("r a1", "r b1")
		s.queue()
		s.ttl(lockKey, testTTL)
		s.ttl(fenceKey, redislock.Retention)
		ends := int64(s.ZScore(t.Context(), lockKey, "r a1").Val())
		if at := from + testTTL.Microseconds(); ends < at || ends > at+5e6 {
			t.Errorf("the lease of the first ends at %d instead of %d", ends, at)
		}

		before := s.dump(t)
		near(t, "left for a writer", s.busy("c1", false), testTTL)
		if after := s.dump(t); after != before {
			t.Errorf("an attempt that does not queue changed\n%sto\n%s", before, after)
		}
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

func TestScriptShareRepeat(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		first, last := s.join("a1", reads)
		s.ends("r a1", time.Second)
		again, until := s.join("a1", reads)
		if again != first || until != last {
			t.Errorf("the repeat got %d..%d instead of %d..%d", again, until, first, last)
		}
		s.ttl(lockKey, testTTL)
		if left := s.ZScore(t.Context(), lockKey, "r a1").Val() - float64(s.now()); left < 5e6 {
			t.Errorf("the lease was not extended: %f us left", left)
		}

		// After another owner there are new tokens.
		_, other := s.join("b1", reads)
		if again, _ := s.join("a1", reads); again <= other {
			t.Errorf("token %d after %d", again, other)
		}
		// A holder keeps its place whatever waits.
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
		near(t, "left for who waits", s.busy("d1", true), 2*time.Second)
		near(t, "left for who tries", s.busy("e1", false), 20*time.Second)
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
		renew := func(want []int64, ttl time.Duration) {
			t.Helper()
			keys := []string{lockKey, "k2", "k3", "k4", lockKey, lockKey, lockKey}
			var args []any
			for _, m := range []string{"r a1", "r a1", "r a1", "r a1", "p a1", "r c1", "r d1"} {
				args = append(args, m, ttl.Milliseconds())
			}
			got, err := redislock.RenewShared.Run(ctx, s.Client, keys, args...).Int64Slice()
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("got %v, %v instead of %v", got, err, want)
			}
		}
		score := func(member string, in time.Duration) {
			t.Helper()
			near(t, "lease of "+member, time.Duration(int64(s.ZScore(ctx, lockKey, member).Val())-s.now())*time.Microsecond, in)
		}
		renew([]int64{1, 0, 0, 0, 0, 0, 0}, 20*time.Second)
		score("r a1", 20*time.Second)
		score("r b1", 30*time.Second)
		s.ttl(lockKey, 30*time.Second)
		renew([]int64{1, 0, 0, 0, 0, 0, 0}, 60*time.Second)
		s.ttl(lockKey, 60*time.Second)
		renew([]int64{1, 0, 0, 0, 0, 0, 0}, 10*time.Second) // shorter, as Grant.TTL may be
		score("r a1", 10*time.Second)
		s.ttl(lockKey, 30*time.Second)
		if n := s.Exists(ctx, "k4").Val(); n != 0 {
			t.Error("a lock that was gone was created")
		}
		if got := s.ZCard(ctx, lockKey).Val(); got != 3 {
			t.Errorf("%d members instead of 3: a renewal adds nobody", got)
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
			rises(s.takeN(c, 64))
			s.release(c, 1)
			rises(s.join(a+"p", "p2"))
			rises(s.join(b+"p", "p2"))
			s.leave(a+"p", "p2", 1)
			s.leave(b+"p", "p2", 1)
			if i == 10 {
				s.Del(t.Context(), fenceKey) // token ranges end at the current time
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
			eachScripts(t, func(t *testing.T, s scripts) {
				set(s)
				before := s.dump(t)
				s.refused("a1", "WRONGTYPE")
				for _, queue := range []bool{false, true} {
					if r, err := s.shareN("a1", reads, queue, 1); !redis.HasErrorPrefix(err, "WRONGTYPE") {
						t.Errorf("share: %v, %v", r, err)
					}
				}
				s.leave("a1", reads, 0)
				s.release("a1", 0)
				if got, err := redislock.RenewShared.Run(t.Context(), s.Client, []string{lockKey}, "r b1", 10000).Int64Slice(); err != nil || got[0] != 0 {
					t.Errorf("renewal: %v, %v", got, err)
				}
				if after := s.dump(t); after != before {
					t.Errorf("changed\n%sto\n%s", before, after)
				}
			})
		})
	}
}

func TestScriptShareBadFence(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.join("a1", reads)
		s.Set(t.Context(), fenceKey, "not a fence", 0)
		if r, err := s.shareN("b1", reads, true, 1); !redis.HasErrorPrefix(err, "BADFENCE") {
			t.Errorf("share: %v, %v", r, err)
		}
		s.holders("r a1")
		s.leave("a1", reads, 1)
		s.holders()
		if got := s.Get(t.Context(), fenceKey).Val(); got != "not a fence" {
			t.Errorf("the release changed the fence to %q", got)
		}
	})
}

func TestScriptShareOutOfMemory(t *testing.T) {
	s := scripts{realServer(t, "--maxmemory-policy", "noeviction"), t}
	heard := s.hear()
	s.join("a1", reads)
	s.busy("b1", true)
	s.kept("c1", reads, true)
	if err := s.ConfigSet(t.Context(), "maxmemory", "100kb").Err(); err != nil {
		t.Fatal(err)
	}
	before := s.dump(t)
	for _, mode := range []string{"try", "enqueue"} {
		_, err := redislock.RunShare(t.Context(), s.Client, "c", testClaim, "in:",
			redislock.ScriptOp{Key: "other", Owner: "c2", TTL: time.Second, Tokens: 1, Mode: mode, Share: reads})
		if !isFull(err) {
			t.Errorf("share on a full server: %v", err)
		}
	}
	if _, err := s.shareN("d1", reads, true, 1); !isFull(err) {
		t.Errorf("queueing on a full server: %v", err)
	}
	if after := s.dump(t); after != before {
		t.Errorf("changed\n%sto\n%s", before, after)
	}
	if r, err := redislock.RenewShared.Run(t.Context(), s.Client, []string{lockKey}, "r a1", 20000).Int64Slice(); err != nil || r[0] != 1 {
		t.Errorf("renew: %v, %v", r, err)
	}
	s.ttl(lockKey, 20*time.Second)
	s.leave("a1", reads, 1)
	s.holder("b1")
	s.take("b1")
	s.release("b1", 1)
	s.holders("r c1")
	s.join("c1", reads)
	s.leave("c1", reads, 1)
	expect(t, "messages", heard(), []string{"in:b b1", "in:c c1"})
}
