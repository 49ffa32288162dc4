package redislock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A holder with an expired lease does not count, for any request, nor for its own
// release.
func TestScriptExpiredHolders(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.join("a1", reads)
		s.join("b1", reads)
		s.ends("r a1", 0)
		s.leave("a1", reads, 0)
		s.holders("r b1")
		s.ends("r b1", 0)
		s.join("c1", writes) // no holder is left
		s.leave("c1", writes, 1)

		s.join("d1", "p1")
		s.kept("e1", "p1", true)
		s.ends("p d1", 0)
		s.kept("f1", "p1", true) // helps the first
		s.holders("p e1")
		s.ends("p e1", 0)
		s.kept("g1", writes, false) // helps the first, too
		s.holders("p f1")
		s.kept("h1", writes, true)
		s.ends("p f1", 0)
		s.leave("f1", "p1", 2)
		s.holder("h1")
		expect(t, "messages", heard(), []string{"in:e e1", "in:f f1", "in:h h1"})
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
		near(t, "left for a waiter", s.kept("d1", writes, true), 2*time.Second)
		near(t, "left for one attempt", s.kept("e1", writes, false), 20*time.Second)
		near(t, "left for a permit", s.kept("e1", "p9", false), 20*time.Second)
	})
}

func TestScriptPassesOnToSixteenAtMost(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.join("a1", writes)
		for i := range 40 {
			s.kept(fmt.Sprint("b", 10+i), reads, true)
		}
		check := func(inside, messages int) {
			t.Helper()
			if n := s.ZCard(t.Context(), lockKey).Val(); n != int64(inside) {
				t.Errorf("%d are in instead of %d", n, inside)
			}
			if n := len(heard()); n != messages {
				t.Errorf("%d messages instead of %d", n, messages)
			}
		}
		s.leave("a1", writes, 1)
		check(16, 16)
		s.join("b10", reads) // a claim admits further ones
		check(32, 16)
		s.join("b45", reads) // and also one that was not in the queue
		check(40, 7)
		s.queue()
	})
}

// The lease of a dead holder ends. Whoever asks next helps the first waiters.
func TestScriptHelpsTheHead(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.join("a1", writes)
		s.kept("b1", writes, true)
		s.kept("c1", reads, true)
		s.kept("d1", reads, true)
		s.expire(t, lockKey)
		s.kept("d1", reads, true) // the writer comes first
		s.holder("b1")
		s.queue("c:c1 r", "d:d1 r")
		expect(t, "messages", heard(), []string{"in:b b1"})

		// A reader behind a reader enters with it, and needs no message.
		s.expire(t, lockKey)
		s.join("d1", reads)
		s.holders("r c1", "r d1")
		s.lease("r d1", testTTL)
		s.queue()
		expect(t, "messages", heard(), []string{"in:c c1"})
	})
}

// Entries of another form, and those of the owner that leaves, are dropped.
func TestScriptForeignQueueEntries(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.join("a1", writes)
		for i, entry := range []string{"nonsense", "b:b1 x", "b:b1 p", "b:b1 r ", "b:b1 p3x", "a:a1", "a:a1 r"} {
			s.ZAdd(t.Context(), queueKey, redis.Z{Score: float64(i), Member: entry})
		}
		s.kept("c1", reads, true)
		s.leave("a1", writes, 1)
		s.holders("r c1")
		s.ttl(lockKey, time.Second) // it may have died: nobody else lets the key end
		s.queue()
		expect(t, "messages", heard(), []string{"in:c c1"})
	})
}
