package redislock_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

// A release of an owner in doubt may be repeated. Another one says what is at the key.
func TestScriptReleaseIsIdempotent(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.take("a1")
		s.unchanged(func() { s.release("b1", 0) })
		s.release("a1", 1)
		s.release("a1", 2)
		s.take("b1")
		s.unchanged(func() { s.release("a1", 0) })
		s.holder("b1")

		again := func(owner, share string) {
			t.Helper()
			for range 2 {
				if got, err := s.leaveErr(owner, share, true); err != nil || got != 1 {
					t.Errorf("release of %s: %d, %v", owner, got, err)
				}
			}
		}
		again("b1", "")
		s.take("c1")
		again("b1", "")
		s.holder("c1")
		s.release("c1", 1)
		s.join("d1", reads)
		s.join("e1", reads)
		again("d1", reads)
		again("e1", reads)
		s.take("f1")
		again("d1", reads)
		s.holder("f1")
	})
}

func TestScriptReleasePassesOn(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		_, last := s.take("a1")
		s.busy("b1", true)
		s.busy("c1", true)
		s.busy("d1", true)
		expect(t, "messages before the release", heard(), nil)

		s.release("a1", 1)
		s.holder("b1")
		s.ttl(lockKey, testClaim)
		s.queue("c:c1", "d:d1")
		expect(t, "messages", heard(), []string{"in:b b1"})

		// A repeat does not pass the lock on again.
		s.release("a1", 0)
		s.holder("b1")
		expect(t, "messages of a repeat", heard(), nil)

		// An ordinary acquire claims the lock.
		if first, _ := s.take("b1"); first <= last {
			t.Errorf("token %d after %d", first, last)
		}
		s.ttl(lockKey, testTTL)
		s.busy("c1", true)
		s.queue("c:c1", "d:d1")
		expect(t, "messages of the claim", heard(), nil)
	})
}

// A message is only a hint: if it had no receiver, the waiter may be subscribed through
// another server, or about to poll.
func TestScriptNobodyHears(t *testing.T) {
	eachScripts(t, func(_ *testing.T, s scripts) {
		s.take("a1")
		s.busy("b1", true)
		s.release("a1", 1)
		s.holder("b1")
		s.take("b1")
	})
}

func TestScriptFreeWithQueue(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.take("a1")
		s.busy("b1", true)
		s.busy("c1", true)
		s.expire(t, lockKey)

		// An owner that is not first helps the first, and is told the claim window.
		if left := s.busy("d1", false); left > testClaim || left <= 0 {
			t.Errorf("%v left of the claim window", left)
		}
		s.holder("b1")
		s.ttl(lockKey, testClaim)
		s.queue("c:c1")
		expect(t, "messages", heard(), []string{"in:b b1"})

		// The first is dead: that costs one claim window, and no more.
		s.expire(t, lockKey)
		s.busy("e1", true)
		s.holder("c1")
		s.queue("e:e1")
		expect(t, "messages", heard(), []string{"in:c c1"})

		// The first takes it.
		s.expire(t, lockKey)
		s.take("e1")
		s.ttl(lockKey, testTTL)
		s.queue()
		expect(t, "messages", heard(), nil)
	})
}

func TestScriptLateRelease(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.take("a1")
		s.busy("b1", true)
		s.expire(t, lockKey)
		s.release("a1", 2)
		s.holder("b1")
		s.ttl(lockKey, testClaim)
		expect(t, "messages", heard(), []string{"in:b b1"})
	})
}

func TestScriptReleaseOfAWaiter(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.take("a1")
		s.busy("b1", true)
		s.busy("c1", true)
		s.release("b1", 0)
		s.queue("c:c1")
		s.holder("a1")

		// The same after the lock has expired: the next is helped, not the leaving
		// owner.
		s.busy("d1", true)
		s.expire(t, lockKey)
		s.release("c1", 2)
		s.holder("d1")
		s.queue()
		expect(t, "messages", heard(), []string{"in:d d1"})
	})
}

func TestScriptForeignQueueEntries(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.take("a1")
		s.ZAdd(t.Context(), queueKey, redis.Z{Score: 1, Member: "nonsense"}, redis.Z{Score: 2, Member: "a:a1"})
		s.busy("b1", true)
		s.release("a1", 1)
		s.holder("b1")
		expect(t, "messages", heard(), []string{"in:b b1"})
	})
}

// An attempt that arrives after the release of its owner must not take the key.
func TestScriptTombstone(t *testing.T) {
	for _, share := range []string{"", reads, "p2"} {
		t.Run(share, func(t *testing.T) {
			eachScripts(t, func(t *testing.T, s scripts) {
				ctx := t.Context()
				inDoubt := func(owner string, want int) {
					t.Helper()
					if got, err := s.leaveErr(owner, share, true); err != nil || got != want {
						t.Errorf("release of %s: %d, %v instead of %d", owner, got, err, want)
					}
				}
				// A release without a doubt leaves none.
				s.join("a1", share)
				s.leave("a1", share, 1)
				if n := s.Exists(ctx, goneKey).Val(); n != 0 {
					t.Error("an ordinary release left a tombstone")
				}
				s.join("a1", share)
				inDoubt("a1", 1)
				s.refusedShare("a1", share, "GONE")

				// An owner that never had the lock, by its whole name, in every mode.
				inDoubt("b1", 2)
				inDoubt("b2", 2)
				s.ttl(goneKey, redislock.TombstoneTTL)
				for _, any := range []string{"", reads, "p1"} {
					s.refusedShare("b1", any, "GONE")
					s.refusedShare("b2", any, "GONE")
				}
				s.take("b")
				if line, err := s.try("b1", share, true); !redis.HasErrorPrefix(err, "GONE") {
					t.Errorf("while another has the lock: %q, %v", line, err)
				}
				s.kept("b1", share, false) // that is a sufficient answer
				s.queue()
				s.extend("b", "1")
				s.release("b", 1)
				s.take("1")
				s.release("1", 1)
				s.refused("b1", "GONE")

				// Many do not displace each other.
				for i := range 100 {
					inDoubt(fmt.Sprint("c", i), 2)
				}
				s.refused("b1", "GONE")
				s.refused("c0", "GONE")
				s.refused("c99", "GONE")

				// Old ones are removed, and all of them with the last.
				at := s.ZScore(ctx, goneKey, "b1").Val()
				if now := float64(s.now()); at > now || at < now-60e6 {
					t.Errorf("the tombstone is of %f instead of %f", at, now)
				}
				s.ZAdd(ctx, goneKey, redis.Z{Score: at - float64(redislock.TombstoneTTL.Microseconds()) - 1, Member: "b1"})
				s.PExpire(ctx, goneKey, time.Second)
				inDoubt("d1", 2)
				s.ttl(goneKey, redislock.TombstoneTTL)
				if n := s.ZCard(ctx, goneKey).Val(); n != 103 {
					t.Errorf("%d tombstones instead of 103", n)
				}
				s.join("b1", share)
				s.leave("b1", share, 1)
			})
		})
	}
}

// A waiter that leaves in doubt has a tombstone, also while the lock is held.
func TestScriptTombstoneOfAWaiter(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.take("a1")
		s.busy("b1", true)
		s.kept("c1", reads, true)
		for owner, share := range map[string]string{"b1": "", "c1": reads} {
			if got, err := s.leaveErr(owner, share, true); err != nil || got != 0 {
				t.Errorf("release of %s: %d, %v", owner, got, err)
			}
		}
		s.queue()
		s.release("a1", 1)
		s.holder("")
		s.refused("b1", "GONE")
		s.refusedShare("c1", reads, "GONE")
	})
}

func TestScriptRenew(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		ctx := t.Context()
		s.Set(ctx, "k1", "a 1789000000123456", time.Second)
		s.Set(ctx, "k2", "b 1789000000123456", time.Second)
		s.RPush(ctx, "k3", "a")
		s.Set(ctx, "k5", "a 1789000000123456", time.Second)
		s.Set(ctx, "k6", "ab 1789000000123456", time.Second)
		s.Set(ctx, "k7", "a", time.Second)
		ops := make([]redislock.ScriptOp, 7)
		for i := range ops {
			ops[i] = redislock.ScriptOp{Key: fmt.Sprint("k", i+1), Owner: "a", TTL: testTTL}
		}
		ops[4].TTL = 2 * testTTL
		s.renewed([]string{"1", "0", "0", "0", "1", "0", "0"}, ops...)
		s.ttl("k1", testTTL)
		s.ttl("k5", 2*testTTL)
		for _, key := range []string{"k2", "k6", "k7"} {
			if d := s.PTTL(ctx, key).Val(); d > time.Second {
				t.Errorf("another's lease of %s was extended to %v", key, d)
			}
		}
		if n := s.Exists(ctx, "k4").Val(); n != 0 {
			t.Error("a lock that was gone was created")
		}
	})
}

// A full server refuses new locks before it has done anything, and allows renewals,
// hand-overs and releases.
func TestScriptOutOfMemory(t *testing.T) {
	t.Parallel()
	eachVariant(t, func(t *testing.T, v variant) {
		s := scripts{server: realServer(t, "--maxmemory-policy", "noeviction"), t: t}
		s.variant = v
		heard := s.hear()
		s.take("a1")
		s.busy("b1", true)
		s.busy("e1", true)
		s.fill()

		s.unchanged(func() {
			for _, mode := range []string{"try", "enqueue"} {
				// All of them fail, or that of a batch that is first would free the way.
				ops := []redislock.ScriptOp{{Key: "other", Owner: "c1", TTL: time.Second, Mode: mode}, {Key: "third", Owner: "c1", TTL: time.Second, Mode: mode}}
				if lines, err := s.run(acquires, ops...); !isFull(err) || len(lines) == 2 && (lines[0][0] != '-' || lines[1][0] != '-') {
					t.Errorf("acquire on a full server: %q, %v", lines, err)
				}
			}
			if _, err := s.try("c1", "", true); !isFull(err) {
				t.Errorf("queueing on a full server: %v", err)
			}
		})

		s.renewed([]string{"1"}, redislock.ScriptOp{Key: lockKey, Owner: "a1", TTL: 2 * testTTL})
		s.ttl(lockKey, 2*testTTL)
		expect(t, "messages so far", heard(), nil)
		s.release("a1", 1)
		s.holder("b1")
		s.take("b1")
		s.Del(t.Context(), lockKey) // as if the lease had ended
		s.busy("c1", false)         // helps the next waiter
		s.holder("e1")
		if got, err := s.releaseErr("e1", true); err != nil || got != 1 {
			t.Errorf("release: %d, %v", got, err)
		}
		s.holder("")
		s.refused("e1", "GONE")
		expect(t, "messages", heard(), []string{"in:b b1", "in:e e1"})
		if got, err := s.releaseErr("d1", true); err != nil || got != 2 {
			t.Errorf("release of an owner that never had it: %d, %v", got, err)
		}
		s.refused("d1", "GONE")
	})
}

// fill makes the server refuse writes that need memory.
func (s scripts) fill() {
	s.t.Helper()
	if err := s.ConfigSet(s.t.Context(), "maxmemory", "100kb").Err(); err != nil {
		s.t.Fatal(err)
	}
	if err := s.Set(s.t.Context(), "x", "y", 0).Err(); !isFull(err) {
		s.t.Fatalf("the server is not full: %v", err)
	}
}

// Leases are durations: if an expiry is in the past for the server, it sets no lock at
// all, and says OK.
func TestScriptsUseNoPointsInTime(t *testing.T) {
	bad := regexp.MustCompile(`(?i)'(PXAT|EXAT|P?EXPIREAT)'`)
	for _, src := range redislock.Sources {
		if m := bad.FindString(src); m != "" {
			t.Errorf("a script uses %s", m)
		}
	}
}
