package redislock_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

// A message is only a hint: if it had no receiver, the waiter may be subscribed through
// another server, or about to poll.
func TestScriptNobodyHears(t *testing.T) {
	eachScripts(t, func(_ *testing.T, s scripts) {
		s.join("a1", writes)
		s.kept("b1", writes, true)
		s.leave("a1", writes, 1)
		s.holder("b1")
		s.join("b1", writes)
	})
}

// An attempt that arrives after the release of its owner must not take the key.
func TestScriptTombstone(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		for _, share := range []string{writes, reads, "p2"} {
			t.Logf("%q", share)
			s.FlushAll(t.Context())
			ctx := t.Context()
			// A release without a doubt leaves none.
			s.join("a1", share)
			s.leave("a1", share, 1)
			if n := s.Exists(ctx, goneKey).Val(); n != 0 {
				t.Error("an ordinary release left a tombstone")
			}
			s.join("a1", share)
			s.leaveInDoubt("a1", share, 1)
			s.refused("a1", share, "GONE")

			// An owner that never had the lock, by its whole name, in every mode.
			s.leaveInDoubt("b1", share, 2)
			s.ttl(goneKey, redislock.TombstoneTTL)
			for _, other := range []string{writes, reads, "p1"} {
				s.refused("b1", other, "GONE")
			}
			s.join("b", writes)
			if line, err := s.try("b1", share, true); !redis.HasErrorPrefix(err, "GONE") {
				t.Errorf("while another has the lock: %q, %v", line, err)
			}
			s.kept("b1", share, false) // that is a sufficient answer
			s.queue()
			s.leave("b", writes, 1)

			// Old ones are removed, and all of them with the last.
			at := s.ZScore(ctx, goneKey, "b1").Val()
			s.ZAdd(ctx, goneKey, redis.Z{Score: at - float64(redislock.TombstoneTTL.Microseconds()) - 1, Member: "b1"})
			s.PExpire(ctx, goneKey, time.Second)
			s.leaveInDoubt("d1", share, 2)
			s.ttl(goneKey, redislock.TombstoneTTL)
			s.refused("a1", share, "GONE")
			s.join("b1", share)
		}
	})
}

// After the lock has changed hands, late requests take it neither for the giver nor for an heir
// that has given up.
func TestScriptAdoptionIsLate(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		for _, share := range []string{writes, "p2"} {
			s.FlushAll(t.Context())
			adopts := func(heir, want string) {
				t.Helper()
				lines, err := s.run(acquires, redislock.ScriptOp{Key: lockKey, Owner: heir, TTL: testTTL, Mode: "a1", Share: share})
				if noError(t, err); !strings.HasPrefix(lines[0], want) {
					t.Errorf("%q: %s adopts: %q, want %s", share, heir, lines, want)
				}
			}
			s.join("a1", share)
			s.leaveInDoubt("b1", share, 0)
			s.unchanged(func() { adopts("b1", "2") })
			adopts("c1", "1")
			s.leave("c1", share, 1)
			s.refused("a1", share, "GONE")
		}
	})
}

// A full server refuses new locks before it has done anything, and allows renewals,
// hand-overs and releases.
func TestScriptOutOfMemory(t *testing.T) {
	t.Parallel()
	eachVariant(t, func(t *testing.T, v variant) {
		s := realServer(t, "--maxmemory-policy", "noeviction")
		s.variant, s.t = v, t
		heard := s.hear()
		s.join("a1", writes)
		s.kept("b1", writes, true)
		s.kept("c1", reads, true)
		s.kept("e1", writes, true)
		s.fill()

		s.unchanged(func() {
			for _, share := range []string{writes, reads} {
				for _, mode := range []string{"try", "enqueue"} {
					// All of them fail, or that of a batch that is first would free the
					// way.
					op := redislock.ScriptOp{Key: "other", Owner: "f1", TTL: time.Second, Mode: mode, Share: share}
					ops := []redislock.ScriptOp{op, op}
					ops[1].Key = "third"
					if lines, err := s.run(acquires, ops...); !isFull(err) || len(lines) == 2 && (lines[0][0] != '-' || lines[1][0] != '-') {
						t.Errorf("acquire on a full server: %q, %v", lines, err)
					}
				}
				if _, err := s.try("f1", share, true); !isFull(err) {
					t.Errorf("queueing on a full server: %v", err)
				}
			}
		})

		s.renewed([]string{"1"}, redislock.ScriptOp{Key: lockKey, Owner: "a1", TTL: 2 * testTTL})
		s.ttl(lockKey, 2*testTTL)
		expect(t, "messages so far", heard(), nil)
		s.leave("a1", writes, 1)
		s.join("b1", writes)
		s.leave("b1", writes, 1)
		s.join("c1", reads)
		s.renewed([]string{"1"}, redislock.ScriptOp{Key: lockKey, Owner: "c1", TTL: 2 * testTTL, Share: reads})
		s.ttl(lockKey, 2*testTTL)
		s.Del(t.Context(), lockKey) // as if the lease had ended
		s.kept("f1", writes, false) // helps the next waiter
		s.holder("e1")
		s.leaveInDoubt("e1", writes, 1)
		s.holder("")
		s.refused("e1", writes, "GONE")
		expect(t, "messages", heard(), []string{"in:b b1", "in:c c1", "in:e e1"})
		s.leaveInDoubt("d1", writes, 2) // it never had the lock
		s.refused("d1", writes, "GONE")
	})
}

// fill makes the server refuse writes that need memory.
func (s scripts) fill() {
	s.t.Helper()
	noError(s.t, s.ConfigSet(s.t.Context(), "maxmemory", "100kb").Err())
	if err := s.Set(s.t.Context(), "x", "y", 0).Err(); !isFull(err) {
		s.t.Fatalf("the server is not full: %v", err)
	}
}

// isFull reports whether err says that the server is out of memory. Before version 7
// the error of a script contains that of its command.
func isFull(err error) bool {
	return err != nil && strings.Contains(err.Error(), "OOM command not allowed")
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
