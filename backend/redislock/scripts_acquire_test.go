package redislock_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/redislock"
)

func TestScriptAcquireFree(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		before := s.now()
		_, last := s.take("a1")
		if last < before || last > s.now() {
			t.Errorf("the token is %d instead of the time %d", last, before)
		}
		s.ttl(lockKey, testTTL)
		// Sixteen digits, not 1.7e+15. There is nothing else.
		got := s.dump(t)
		if want := fmt.Sprintf("%s = a1 %016d\n", lockKey, last); !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
		if want := fmt.Sprintf("%s = %016d\n", redislock.ClockKey, last); !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
		if n := s.DBSize(t.Context()).Val(); n != 2 {
			t.Errorf("there are %d keys:\n%s", n, got)
		}
		if d := s.PTTL(t.Context(), redislock.ClockKey).Val(); d > 0 {
			t.Errorf("the clock is deleted in %v", d)
		}

		s.release("a1", 1)
		if got, want := s.dump(t), fmt.Sprintf("%s = %016d\n", redislock.ClockKey, last); got != want {
			t.Errorf("a release leaves\n%sinstead of\n%s", got, want)
		}
	})
}

// A repeated attempt gets the last token again, and a whole lease.
func TestScriptAcquireRepeat(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		_, last := s.take("a1")
		s.PExpire(t.Context(), lockKey, time.Second)
		if first, again := s.take("a1"); first != last || again != last {
			t.Errorf("the repeat got %d..%d instead of %d", first, again, last)
		}
		s.ttl(lockKey, testTTL)
		s.holder("a1")
	})
}

// An attempt that arrives late does not shorten the lease, and neither does a renewal.
func TestScriptLateAttempt(t *testing.T) {
	eachScripts(t, func(_ *testing.T, s scripts) {
		s.take("a1")
		s.renewed([]string{"1"}, redislock.ScriptOp{Key: lockKey, Owner: "a1", TTL: time.Minute})
		s.take("a1")
		s.ttl(lockKey, time.Minute)
		s.extend("a1", "1")
		s.ttl(lockKey, time.Minute)
		s.renewed([]string{"1"}, redislock.ScriptOp{Key: lockKey, Owner: "a1", TTL: testTTL})
		s.ttl(lockKey, time.Minute)
		s.renewed([]string{"1"}, redislock.ScriptOp{Key: lockKey, Owner: "a1", TTL: testTTL, Retain: true})
		s.ttl(lockKey, testTTL)
		s.release("a1", 1)

		for _, share := range []string{reads, "p1"} {
			s.join("b1", share)
			s.ends(share[:1]+" b1", time.Minute)
			s.join("b1", share)
			s.lease(share[:1]+" b1", time.Minute)
			s.ttl(lockKey, time.Minute)
			s.leave("b1", share, 1)
		}
	})
}

// extend extends an exclusive lease. It checks the first word of the reply, and returns it.
func (s scripts) extend(owner, want string) string {
	s.t.Helper()
	lines, err := s.run(acquires, redislock.ScriptOp{Key: lockKey, Owner: owner, TTL: testTTL, Mode: "extend"})
	if err != nil {
		s.t.Fatal(err)
	}
	if word, _, _ := strings.Cut(lines[0], " "); word != want {
		s.t.Errorf("extend: %q instead of %s", lines[0], want)
	}
	return lines[0]
}

func TestScriptExtend(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.extend("a1", "2")
		_, last := s.take("a1")
		s.PExpire(t.Context(), lockKey, time.Second)
		first, more := grant(t, s.extend("a1", "1"))
		if first <= last {
			t.Errorf("token %d after %d", first, last)
		}
		s.ttl(lockKey, testTTL)
		s.unchanged(func() { s.extend("b1", "2") })

		// Not while others wait.
		s.busy("b1", true)
		s.PExpire(t.Context(), lockKey, time.Second)
		s.unchanged(func() { s.extend("a1", "0") })
		s.ttl(lockKey, time.Second)
		s.release("a1", 1)
		s.extend("a1", "2")
		if first, _ := s.take("b1"); first <= more {
			t.Errorf("token %d after %d", first, more)
		}
		s.release("b1", 1)
		s.join("c1", reads)
		s.extend("c1", "2")
	})
}

// Tokens rise from grant to grant. All that were not issued before are in the block of the
// next grant.
func TestScriptTokens(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		_, highest := s.take("a1")
		s.release("a1", 1)
		for i := range 50 {
			owner := fmt.Sprint("a", i)
			first, last := s.take(owner)
			if first != highest+1 || last != s.last() {
				t.Fatalf("got %d..%d after %d, and the last one is %d", first, last, highest, s.last())
			}
			highest = last
			s.release(owner, 1)
		}
		if highest > s.now() {
			t.Errorf("the token %d is ahead of the time %d", highest, s.now())
		}
	})
}

// While the clock is behind the last token, each grant gets the next one.
func TestScriptClockSetBack(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		ahead := s.now() + time.Hour.Microseconds()
		s.Set(t.Context(), redislock.ClockKey, fmt.Sprintf("%016d", ahead), 0)
		next := func(first, last int64) {
			t.Helper()
			if ahead++; first != ahead || last != ahead {
				t.Errorf("got %d..%d instead of %d", first, last, ahead)
			}
		}
		next(s.take("a1"))
		next(grant(t, s.extend("a1", "1")))
		s.release("a1", 1)
		next(s.join("b1", reads))
		next(s.join("c1", reads))
		s.busy("d1", true)
		s.leave("b1", reads, 1)
		s.leave("c1", reads, 1)
		ahead++ // of the message to d1
		if _, last := s.take("d1"); last != ahead {
			t.Errorf("the waiter got %d instead of %d", last, ahead)
		}
		s.release("d1", 1)
		next(s.join("e1", "p1"))
		s.leave("e1", "p1", 1)
		lines, err := s.run(acquires, exclusive("x", "f1"), exclusive("y", "f2"))
		if err != nil {
			t.Fatal(err)
		}
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
		next(s.take("a1"))
		s.release("a1", 1)
		s.Del(t.Context(), redislock.ClockKey)
		next(s.take("a2"))
		s.FlushAll(t.Context())
		next(s.take("a3"))
		s.FlushAll(t.Context())
		next(s.join("a4", reads))
		s.busy("b1", true)
		s.Del(t.Context(), redislock.ClockKey)
		s.leave("a4", reads, 1)
		next(s.take("b1")) // it claims what was granted by the release
		s.FlushAll(t.Context())
	})
}

// exclusive is an attempt to take a lock, which does not queue.
func exclusive(key, owner string) redislock.ScriptOp {
	return redislock.ScriptOp{Key: key, Owner: owner, TTL: testTTL, Mode: "try"}
}

// A refusal says what was issued before it: a message with a smaller token is older.
func TestScriptRefusalHasTheLastToken(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		issued := func(share string) int64 {
			t.Helper()
			line, err := s.try("w1", share, true)
			ns := strings.Fields(line)
			if err != nil || len(ns) < 3 || ns[0] != "0" {
				t.Fatalf("got %q, %v", line, err)
			}
			return numbers(t, ns[2])[0]
		}
		_, last := s.take("a1")
		for _, share := range []string{"", reads, "p1"} {
			if got := issued(share); got < last || got > s.last() {
				t.Errorf("%q: after the token %d a refusal says %d", share, last, got)
			}
		}
		s.release("w1", 0)
		s.leave("w1", reads, 0)
		s.leave("w1", "p1", 0)
		// Other locks have the same clock.
		lines, err := s.run(acquires, exclusive("other", "b1"))
		if err != nil {
			t.Fatal(err)
		}
		_, last = grant(t, lines[0])
		if got := issued(""); got < last {
			t.Errorf("after the token %d of another lock a refusal says %d", last, got)
		}
		s.release("a1", 1)
		if first, _ := s.take("w1"); first <= last {
			t.Errorf("the waiter got the token %d after %d", first, last)
		}
		s.release("w1", 1)
		_, last = s.join("c1", "p1")
		if got := issued("p1"); got < last {
			t.Errorf("after the token %d of a permit a refusal says %d", last, got)
		}
	})
}

// A refusal names the holder, and says since when it has the lock.
func TestScriptRefusalNamesTheHolder(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		const owner = "01234567-89ab-cdef-0123-456789abcdef@web/3"
		lines, err := s.run(acquires, exclusive(lockKey, owner))
		if err != nil {
			t.Fatal(err)
		}
		_, token := grant(t, lines[0])
		from := s.now()
		line, err := s.try("a1", "", false)
		words := strings.Split(line, " ")
		if err != nil || len(words) != 5 || words[4] != "web/3" {
			t.Fatalf("got %q, %v", line, err)
		}
		if held := numbers(t, words[3])[0]; held < from-token || held > s.now()-token {
			t.Errorf("held for %d us instead of %d", held, from-token)
		}
		// The clock may have been set back since, and a value may be of another library.
		for value, want := range map[string]string{
			fmt.Sprintf("a1 %016d", s.now()+time.Hour.Microseconds()): " 0 ",
			"of redislock or Spring":                                  " -1 ",
			"a1 17":                                                   " -1 ",
		} {
			s.Set(t.Context(), lockKey, value, time.Minute)
			if line, err := s.try("b1", "", false); err != nil || !strings.HasSuffix(line, want) {
				t.Errorf("%q: got %q, %v instead of ...%q", value, line, err, want)
			}
		}
		s.Set(t.Context(), lockKey, strings.Repeat("x", 161), time.Minute)
		if line, err := s.try("b1", "", false); err != nil || len(strings.Fields(line)) != 3 {
			t.Errorf("a long value: got %q, %v", line, err)
		}
	})
}

func TestScriptBusy(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.take("a1")
		s.unchanged(func() {
			near(t, "left of the lease", s.busy("b1", false), testTTL)
		})

		from := s.now()
		s.busy("b1", true)
		s.busy("c1", true)
		s.queue("b:b1", "c:c1")
		s.ttl(queueKey, redislock.QueueTTL)
		ticket := s.ZScore(t.Context(), queueKey, "b:b1").Val()
		if ticket < float64(from) || ticket > float64(s.now()) {
			t.Errorf("the ticket is %f instead of the time %d", ticket, from)
		}

		s.PExpire(t.Context(), queueKey, time.Second)
		s.busy("b1", true)
		if again := s.ZScore(t.Context(), queueKey, "b:b1").Val(); again != ticket {
			t.Errorf("a waiter that came again got the ticket %f for %f", again, ticket)
		}
		s.ttl(queueKey, redislock.QueueTTL)
	})
}

func TestScriptTicketsSurviveAClockSetBack(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.take("a1")
		ahead := float64(s.now() + time.Hour.Microseconds())
		s.ZAdd(t.Context(), queueKey, redis.Z{Score: ahead, Member: "b:b1"})
		s.busy("c1", true)
		s.busy("d1", true)
		s.queue("b:b1", "c:c1", "d:d1")
		if got := s.ZScore(t.Context(), queueKey, "d:d1").Val(); got != ahead+2 {
			t.Errorf("the ticket is %f instead of %f", got, ahead+2)
		}
	})
}

func TestScriptForeignHolder(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.Set(t.Context(), lockKey, "of redislock or Spring", time.Minute)
		if left := s.busy("a1", true); left < 55*time.Second {
			t.Errorf("%v left of a minute", left)
		}
		s.release("a1", 0)
		if got := s.Get(t.Context(), lockKey).Val(); got != "of redislock or Spring" {
			t.Errorf("the value is %q", got)
		}

		s.Set(t.Context(), lockKey, "without a lease", 0)
		if left := s.busy("a2", false); left >= 0 {
			t.Errorf("%v left of a lock without a lease", left)
		}
	})
}

func TestScriptForeignType(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.RPush(t.Context(), lockKey, "x", "y")
		s.unchanged(func() {
			s.refused("a1", "WRONGTYPE")
			s.release("a1", 0)
		})
	})
}

// A clock that is not a token is an error for each attempt. Nothing is granted, and the
// value stays. Locks can be released.
func TestScriptBadClock(t *testing.T) {
	for _, text := range []string{
		"", "42", "not a token", "9007199254740991", "99999999999999999999", "-000000000000001",
		"00000000000001e3", "000000000000001.", " 00000000000001", "0000000000000001\n", "1789000000123456 ",
	} {
		t.Run(strconv.Quote(text), func(t *testing.T) {
			eachScripts(t, func(t *testing.T, s scripts) {
				s.take("a1")
				s.busy("b1", true)
				if text == "" {
					s.Del(t.Context(), redislock.ClockKey)
					s.RPush(t.Context(), redislock.ClockKey, "x")
				} else {
					s.Set(t.Context(), redislock.ClockKey, text, 0)
				}
				clock := func() string {
					return s.Type(t.Context(), redislock.ClockKey).Val() + s.Get(t.Context(), redislock.ClockKey).Val()
				}
				before := clock()
				if line, err := s.try("c1", "", true); !redis.HasErrorPrefix(err, "BADCLOCK") {
					t.Errorf("got %q, %v", line, err)
				}
				s.renewed([]string{"1"}, redislock.ScriptOp{Key: lockKey, Owner: "a1", TTL: testTTL})
				s.queue("b:b1")
				s.release("a1", 1)
				s.holder("")
				s.queue("b:b1") // it is not granted the lock, because it would get no token
				s.refused("b1", "BADCLOCK")
				s.refusedShare("c1", reads, "BADCLOCK")
				if after := clock(); after != before {
					t.Errorf("%q became %q", before, after)
				}

				s.Del(t.Context(), redislock.ClockKey)
				s.take("b1")
			})
		})
	}
}

// What is wrong with one lock fails that lock alone, although one script call is for
// several.
func TestScriptOneOfSeveralFails(t *testing.T) {
	const bad, good = "bad", "good"
	for place, want := range map[string]struct{ key, acquired, released, renewed string }{
		"lock":  {bad, "-WRONGTYPE", "0", "0"},
		"queue": {"{bad}:queue", "-WRONGTYPE", "2", "0"},
		"gone":  {"{bad}:gone", "-WRONGTYPE", "2", "0"},
	} {
		t.Run(place, func(t *testing.T) {
			eachScripts(t, func(t *testing.T, s scripts) {
				s.HSet(t.Context(), want.key, "x", "y")
				ops := []redislock.ScriptOp{exclusive("a", "a1"), exclusive(bad, "a2"), exclusive(good, "a3"), exclusive("c", "a4")}
				ops[3].Share = reads
				run := func(what string, pick func(redislock.Scripts) *luascript.Script, want, others string) {
					t.Helper()
					lines, _ := s.run(pick, ops...)
					for i, line := range lines {
						w := others
						if ops[i].Key == bad {
							w = want
						}
						if word, _, _ := strings.Cut(line, " "); word != w {
							t.Errorf("%s of %q: %q instead of %s", what, ops[i].Key, line, w)
						}
					}
					if len(lines) != len(ops) {
						t.Errorf("%s: %d lines", what, len(lines))
					}
				}
				run("acquire", acquires, want.acquired, "1")
				run("renew", renews, want.renewed, "1")
				run("release", releases, want.released, "1")
				if n := s.Exists(t.Context(), "a", good, "c").Val(); n != 0 {
					t.Errorf("%d locks are left", n)
				}
				if typ := s.Type(t.Context(), want.key).Val(); typ != "hash" {
					t.Errorf("%s is a %s now", want.key, typ)
				}
			})
		})
	}
}
