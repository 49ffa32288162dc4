package redislock_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

func TestScriptShareBehindAWriter(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.take("a1")
		s.unchanged(func() { near(t, "left for a reader", s.kept("b1", reads, false), testTTL) })
		s.kept("b1", reads, true)
		s.kept("c1", "p3", true)
		s.queue("b:b1 r", "c:c1 p3")
		s.ttl(queueKey, redislock.QueueTTL)
		ticket := s.ZScore(t.Context(), queueKey, "b:b1 r").Val()
		s.kept("b1", reads, true)
		if again := s.ZScore(t.Context(), queueKey, "b:b1 r").Val(); again != ticket {
			t.Errorf("a waiter that came again got the ticket %f for %f", again, ticket)
		}
		s.leave("b1", reads, 0)
		s.queue("c:c1 p3")
		s.holder("a1")
	})
}

// A writer that leaves admits all readers up to the next writer.
func TestScriptWriterPassesOnToReaders(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		_, last := s.take("a1")
		s.kept("b1", reads, true)
		s.kept("c1", reads, true)
		s.busy("d1", true)
		s.kept("e1", reads, true)
		expect(t, "messages before", heard(), nil)

		s.release("a1", 1)
		s.holders("r b1", "r c1")
		s.ttl(lockKey, testClaim)
		s.queue("d:d1", "e:e1 r")
		expect(t, "messages", heard(), []string{"in:b b1", "in:c c1"})

		first, until := s.join("b1", reads)
		if first <= last {
			t.Errorf("token %d after %d", first, last)
		}
		s.ttl(lockKey, testTTL)
		if first, _ = s.join("c1", reads); first <= until {
			t.Errorf("token %d after %d", first, until)
		}

		// The last of them admits the writer, and only the writer.
		s.leave("b1", reads, 1)
		expect(t, "messages while one reads", heard(), nil)
		s.leave("c1", reads, 1)
		s.holder("d1")
		s.ttl(lockKey, testClaim)
		s.queue("e:e1 r")
		expect(t, "messages", heard(), []string{"in:d d1"})
		s.take("d1")
		s.release("d1", 1)
		s.holders("r e1")
		expect(t, "messages", heard(), []string{"in:e e1"})
	})
}

// Readers that come while a writer waits queue behind it.
func TestScriptReadersDoNotPassAWriter(t *testing.T) {
	eachScripts(t, func(_ *testing.T, s scripts) {
		s.join("a1", reads)
		s.busy("b1", true)
		s.kept("c1", reads, false)
		s.kept("d1", reads, true)
		s.holders("r a1")
		s.queue("b:b1", "d:d1 r")
		s.leave("a1", reads, 1)
		s.holder("b1")
	})
}

// A writer that leaves admits the readers that it kept out.
func TestScriptWriterLeavesTheQueue(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.join("a1", reads)
		s.busy("b1", true)
		s.kept("c1", reads, true)
		s.release("b1", 0)
		s.holders("r a1", "r c1")
		s.queue()
		expect(t, "messages", heard(), []string{"in:c c1"})

		// The same if a request for a permit kept others out.
		s.kept("d1", "p1", true)
		s.kept("e1", reads, true)
		s.leave("d1", "p1", 0)
		s.holders("r a1", "r c1", "r e1")
		expect(t, "messages", heard(), []string{"in:e e1"})
	})
}

func TestScriptPassesOnToSixteenAtMost(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.take("a1")
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
		s.release("a1", 1)
		check(16, 16)
		s.join("b10", reads) // a claim admits further ones
		check(32, 16)
		s.join("b45", reads) // and also one that was not in the queue
		check(40, 7)
		s.queue()
	})
}

func TestScriptShareHelpsTheHead(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.take("a1")
		s.busy("b1", true)
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

// The head of the queue takes a free lock, and others with it.
func TestScriptShareHeadTakesIt(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.take("a1")
		s.kept("b1", reads, true)
		s.kept("c1", reads, true)
		s.expire(t, lockKey)
		s.join("b1", reads)
		s.holders("r b1", "r c1")
		s.queue()
		expect(t, "messages", heard(), []string{"in:c c1"})
	})
}

func TestScriptShareForeignQueueEntries(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.take("a1")
		for i, entry := range []string{"nonsense", "b:b1 x", "b:b1 p", "b:b1 r ", "b:b1 p3x", "a:a1", "a:a1 r"} {
			s.ZAdd(t.Context(), queueKey, redis.Z{Score: float64(i), Member: entry})
		}
		s.kept("c1", reads, true)
		s.release("a1", 1)
		s.holders("r c1")
		s.queue()
		expect(t, "messages", heard(), []string{"in:c c1"})
	})
}
