package redislock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

// While the clock is behind the last token, each grant gets the next one.
//
// Row 11 (redislock): tokens rise although the clock was set back by an hour, and holders release.
// Fails if a new token depends on the server's time alone.
func TestScriptClockSetBack(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		ahead := s.now() + time.Hour.Microseconds()
		s.Set(t.Context(), clockKey, fmt.Sprintf("%016d", ahead), 0)
		next := func(first, last int64) {
			t.Helper()
			if ahead++; first != ahead || last != ahead {
				t.Errorf("got %d..%d instead of %d", first, last, ahead)
			}
		}
		next(s.join("a1", writes))
		next(s.extend("a1"))
		s.leave("a1", writes, 1)
		next(s.join("b1", reads))
		next(s.join("c1", reads))
		s.kept("d1", writes, true)
		s.leave("b1", reads, 1)
		s.leave("c1", reads, 1)
		ahead++ // of the message to d1
		if _, last := s.join("d1", writes); last != ahead {
			t.Errorf("the waiter got %d instead of %d", last, ahead)
		}
		s.leave("d1", writes, 1)
		next(s.join("e1", "p1"))
		s.leave("e1", "p1", 1)
		lines, err := s.run(acquires, exclusive("x", "f1"), exclusive("y", "f2"))
		noError(t, err)
		next(grant(t, lines[0]))
		next(grant(t, lines[1]))
		if s.last() != ahead {
			t.Errorf("the clock is %d instead of %d", s.last(), ahead)
		}
	})
}

// If the last token is lost, the next one is the time. Only that one is issued: tokens
// before it may have been issued before the loss.
func TestScriptTokensAfterLoss(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		var highest int64
		next := func(first, last int64) {
			t.Helper()
			if first != last || first <= highest || last > s.now() {
				t.Errorf("got %d..%d after %d", first, last, highest)
			}
			highest = last
		}
		next(s.join("a1", writes))
		s.leave("a1", writes, 1)
		s.Del(t.Context(), clockKey)
		next(s.join("a2", writes))
		s.FlushAll(t.Context())
		next(s.join("a3", reads))
		s.kept("b1", writes, true)
		s.Del(t.Context(), clockKey)
		s.leave("a3", reads, 1)
		next(s.join("b1", writes)) // it claims what was granted by the release
	})
}

// exclusive is an attempt to take a lock, which does not queue.
func exclusive(key, owner string) redislock.ScriptOp {
	return redislock.ScriptOp{Key: key, Owner: owner, TTL: testTTL, Mode: "try"}
}

// A refusal says what was issued before it, for any lock: a message with a smaller
// token is older.
func TestScriptRefusalHasTheLastToken(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.join("a1", writes)
		lines, err := s.run(acquires, exclusive("other", "b1"))
		noError(t, err)
		_, last := grant(t, lines[0])
		for _, share := range []string{writes, reads, "p1"} {
			line, err := s.try("w1", share, true)
			noError(t, err)
			if got := numbers(t, strings.Fields(line)[2])[0]; got < last || got > s.last() {
				t.Errorf("%q: after the token %d a refusal says %d", share, last, got)
			}
		}
	})
}

// A message says that others wait, also if it is the caller that has just queued.
func TestScriptMessageSaysThatOthersWait(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		sub := s.PSubscribe(t.Context(), "in:*")
		defer sub.Close()
		_, err := sub.Receive(t.Context())
		noError(t, err)
		for _, c := range []struct{ queues, says string }{{"", "0"}, {"c1", "1"}} {
			s.FlushAll(t.Context())
			s.join("a1", writes)
			s.kept("b1", writes, true)
			s.expire(t, lockKey)
			s.kept("c1", writes, c.queues != "") // the server grants the lock to b1
			m, err := sub.ReceiveMessage(t.Context())
			noError(t, err)
			if words := strings.Fields(m.Payload); words[len(words)-1] != c.says {
				t.Errorf("the message is %q, and %q waits", m.Payload, c.queues)
			}
		}
	})
}

// If the clock is set back, a later waiter does not overtake.
func TestScriptTicketsSurviveAClockSetBack(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.join("a1", writes)
		ahead := float64(s.now() + time.Hour.Microseconds())
		s.ZAdd(t.Context(), queueKey, redis.Z{Score: ahead, Member: "b:b1"})
		s.kept("c1", writes, true)
		s.kept("d1", writes, true)
		s.kept("b1", writes, true)
		s.queue("b:b1", "c:c1", "d:d1")
	})
}

// A clock that is not a token is an error for each attempt. Nothing is granted, and the
// value stays. Locks can be renewed, released and taken away.
func TestScriptBadClock(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		for _, text := range []string{
			"", "42x", "not a token", "9007199254740991", "99999999999999999999", "-000000000000001", "0123456789abcdef",
			"00000000000001e3", "000000000000001.", " 00000000000001", "0000000000000001\n", "1789000000123456 ",
		} {
			t.Logf("%q", text)
			s.FlushAll(t.Context())
			shared := exclusive("shared", "e1")
			shared.Share = reads
			_, err := s.run(acquires, exclusive("forced", "d1"), shared)
			noError(t, err)
			s.join("a1", writes)
			s.kept("b1", writes, true)
			if text == "" {
				s.Del(t.Context(), clockKey)
				s.RPush(t.Context(), clockKey, "x")
			} else {
				s.Set(t.Context(), clockKey, text, 0)
			}
			clock := func() string {
				return s.Type(t.Context(), clockKey).Val() + s.Get(t.Context(), clockKey).Val()
			}
			before := clock()
			if line, err := s.try("c1", writes, true); !redis.HasErrorPrefix(err, "BADCLOCK") {
				t.Errorf("got %q, %v", line, err)
			}
			s.renewed([]string{"1", "1"}, redislock.ScriptOp{Key: lockKey, Owner: "a1", TTL: testTTL}, shared)
			if lines, err := s.run(forces, redislock.ScriptOp{Key: "forced", Owner: "order"}); err != nil || lines[0] != "1" {
				t.Errorf("force: %q, %v", lines, err)
			}
			s.gives(1, shared)
			s.leave("a1", writes, 1)
			s.holder("")
			s.queue("b:b1") // it is not granted the lock, because it would get no token
			s.refused("b1", writes, "BADCLOCK")
			s.refused("c1", reads, "BADCLOCK")
			if after := clock(); after != before {
				t.Errorf("%q became %q", before, after)
			}
			s.Del(t.Context(), clockKey)
			s.join("b1", writes)
		}
	})
}
