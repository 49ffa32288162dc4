package redislock_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

// A fence expires before a lock that is held for longer. The holder restores the
// counter when it releases.
func TestScriptReleaseRestoresCounter(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		_, last := s.take("a1")
		s.Del(t.Context(), fenceKey)
		ahead := last + time.Hour.Microseconds() // as if the clock were set back meanwhile
		if _, err := s.releaseErr("a1", false, ahead); err != nil {
			t.Fatal(err)
		}
		if first, _ := s.take("a2"); first != ahead+1 {
			t.Errorf("token %d after %d", first, ahead)
		}
	})
}

func TestScriptReleaseIsIdempotent(t *testing.T) {
	eachScripts(t, func(_ *testing.T, s scripts) {
		s.take("a1")
		s.release("b1", 0)
		s.holder("a1")
		s.release("a1", 1)
		s.release("a1", 1)
		s.ttl(fenceKey, redislock.Retention)
		s.take("b1")
		s.release("a1", 1)
		s.holder("b1")
		s.release("c1", 0)
		s.holder("b1")
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
		s.release("a1", 1)
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

// An attempt that arrives after its owner's release must not take the key.
func TestScriptGone(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		inDoubt := func(owner string) {
			t.Helper()
			if got, err := s.releaseErr(owner, true, 0); err != nil || got == 1 {
				t.Fatalf("release of %s: %d, %v", owner, got, err)
			}
		}
		s.take("a1")
		s.release("a1", 1)
		s.refused("a1", "GONE")

		// An owner that never had the lock is recorded if an attempt is in doubt, by
		// its whole name.
		inDoubt("b1")
		inDoubt("b2")
		s.refused("b1", "GONE")
		s.refused("b2", "GONE")
		s.take("b")
		s.refusedQueueing("b1")
		s.release("b", 1)
		s.take("1")
		s.release("1", 1)
		s.refused("b1", "GONE")
		s.refused("b2", "GONE")

		// The record is bounded.
		for i := range 15 {
			inDoubt(fmt.Sprint("c", i))
			inDoubt(fmt.Sprint("c", i)) // counts once
		}
		s.refused("b2", "GONE")
		inDoubt("c15")
		s.refused("c15", "GONE")
		s.refused("c0", "GONE")
		s.take("b1")
		s.release("b1", 1)

		// And it expires.
		fence := strings.Fields(s.Get(t.Context(), fenceKey).Val())
		if len(fence) != 5+16 {
			t.Fatalf("the fence is %q", fence)
		}
		at := must(strconv.ParseInt(fence[4], 10, 64))
		if now := s.now(); at > now || at < now-time.Minute.Microseconds() {
			t.Errorf("tombstone at %d instead of %d", at, now)
		}
		fence[4] = fmt.Sprint(at - redislock.Retention.Microseconds() - 1)
		s.Set(t.Context(), fenceKey, strings.Join(fence, " "), redislock.Retention)
		s.take("d1")
		if n := len(strings.Fields(s.Get(t.Context(), fenceKey).Val())); n != 4 {
			t.Errorf("the fence still has %d fields", n)
		}
	})
}

// refusedQueueing: if the lock is held, only an attempt that would queue is refused;
// others change nothing anyway.
func (s scripts) refusedQueueing(owner string) {
	s.t.Helper()
	if r, err := s.acquireN(owner, true, 1); !redis.HasErrorPrefix(err, "GONE") {
		s.t.Errorf("got %v, %v instead of GONE", r, err)
	}
	s.busy(owner, false)
	s.queue()
}

func TestScriptGoneWithoutFence(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		if _, err := s.releaseErr("b1", true, 0); err != nil {
			t.Fatal(err)
		}
		s.refused("b1", "GONE")
		from := s.now()
		if first, last := s.takeN("a1", 64); first != last || first < from {
			t.Errorf("got %d..%d from a counter that never was", first, last)
		}
	})
}

func TestScriptRenew(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		ctx := t.Context()
		s.Set(ctx, "k1", "a", time.Second)
		s.Set(ctx, "k2", "b", time.Second)
		s.RPush(ctx, "k3", "a")
		s.Set(ctx, "k5", "a", time.Second)
		got, err := redislock.RenewScript.Run(ctx, s.Client, []string{"k1", "k2", "k3", "k4", "k5"},
			"a", 10000, "a", 10000, "a", 10000, "a", 10000, "a", 20000).Int64Slice()
		if err != nil || !slices.Equal(got, []int64{1, 0, 0, 0, 1}) {
			t.Errorf("got %v, %v", got, err)
		}
		s.ttl("k1", 10*time.Second)
		s.ttl("k5", 20*time.Second)
		if d := s.PTTL(ctx, "k2").Val(); d > time.Second {
			t.Errorf("another's lease was extended to %v", d)
		}
		if n := s.Exists(ctx, "k4").Val(); n != 0 {
			t.Error("a lock that was gone was created")
		}
	})
}

// A full server refuses new locks before it has done anything, and allows renewals,
// hand-overs and releases.
func TestScriptOutOfMemory(t *testing.T) {
	s := scripts{realServer(t, "--maxmemory-policy", "noeviction"), t}
	heard := s.hear()
	s.take("a1")
	s.busy("b1", true)
	if err := s.ConfigSet(t.Context(), "maxmemory", "100kb").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(t.Context(), "x", "y", 0).Err(); !isFull(err) {
		t.Fatalf("the server is not full: %v", err)
	}

	before := s.dump(t)
	for _, mode := range []string{"try", "enqueue"} {
		_, err := redislock.RunAcquire(t.Context(), s.Client, "c", testClaim, "in:", redislock.ScriptOp{Key: "other", Owner: "c1", TTL: time.Second, Tokens: 1, Mode: mode})
		if !isFull(err) {
			t.Errorf("acquire on a full server: %v", err)
		}
	}
	if _, err := s.acquireN("c1", true, 1); !isFull(err) {
		t.Errorf("queueing on a full server: %v", err)
	}
	if after := s.dump(t); after != before {
		t.Errorf("changed\n%sto\n%s", before, after)
	}

	if r, err := redislock.RenewScript.Run(t.Context(), s.Client, []string{lockKey}, "a1", 20000).Int64Slice(); err != nil || r[0] != 1 {
		t.Errorf("renew: %v, %v", r, err)
	}
	s.ttl(lockKey, 20*time.Second)
	expect(t, "messages so far", heard(), nil)
	s.release("a1", 1)
	s.holder("b1")
	s.take("b1")
	if got, err := s.releaseErr("b1", true, 0); err != nil || got != 1 {
		t.Errorf("release: %d, %v", got, err)
	}
	s.holder("")
	expect(t, "messages", heard(), []string{"in:b b1"})
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
