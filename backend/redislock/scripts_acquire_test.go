package redislock_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

func TestScriptAcquireFree(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		before := s.now()
		first, last := s.takeN("a1", 64)
		if first != last || first < before || first > s.now() {
			t.Errorf("the first tokens are %d..%d instead of the one time %d", first, last, before)
		}
		s.holder("a1")
		s.ttl(lockKey, testTTL)
		s.ttl(fenceKey, redislock.Retention)
		// Sixteen digits, not 1.7e+15.
		fence := s.Get(t.Context(), fenceKey).Val()
		if want := fmt.Sprintf("%016d %016d a1 -", first, last); fence != want {
			t.Errorf("the fence is %q instead of %q", fence, want)
		}
		s.queue()
	})
}

func TestScriptAcquireRepeat(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		first, last := s.takeN("a1", 64)
		s.PExpire(t.Context(), lockKey, time.Second)
		again, until := s.takeN("a1", 64)
		if again != first || until != last {
			t.Errorf("the repeat got %d..%d instead of %d..%d", again, until, first, last)
		}
		s.ttl(lockKey, testTTL)
	})
}

func TestScriptTokens(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		var highest int64
		for i := range 50 {
			owner := fmt.Sprint("a", i)
			first, last := s.takeN(owner, 1+i%64)
			switch {
			case first <= highest:
				t.Fatalf("token %d after %d", first, highest)
			case last < first || last-first >= int64(1+i%64):
				t.Fatalf("%d..%d is not a block of up to %d", first, last, 1+i%64)
			case last > first && last > s.now():
				t.Fatalf("the block ends at %d, after the clock", last)
			}
			highest = last
			s.release(owner, 1)
		}

		// With time between them, blocks are full.
		at := s.now()
		eventually(t, "1000 us pass", func() bool { return s.now() > at+1000 })
		if first, last := s.takeN("b1", 64); last-first != 63 {
			t.Errorf("%d..%d is not a block of 64", first, last)
		}
	})
}

func TestScriptTokensAheadOfTheClock(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		ahead := s.now() + time.Hour.Microseconds()
		s.Set(t.Context(), fenceKey, fmt.Sprintf("%d %d x1 -", ahead, ahead), redislock.Retention)
		if first, last := s.takeN("a1", 64); first != ahead+1 || last != ahead+1 {
			t.Errorf("got %d..%d instead of the one token %d", first, last, ahead+1)
		}
	})
}

func TestScriptTokensAfterLoss(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		_, last := s.takeN("a1", 64)
		s.release("a1", 1)
		s.Del(t.Context(), fenceKey)
		first, after := s.takeN("a2", 64)
		if first <= last {
			t.Errorf("token %d after %d and the loss of the fence", first, last)
		}
		s.FlushAll(t.Context())
		if first, _ := s.takeN("a3", 64); first <= after {
			t.Errorf("token %d after %d and the loss of everything", first, after)
		}
	})
}

func TestScriptBusy(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.take("a1")
		before := s.dump(t)
		if left := s.busy("b1", false); left > testTTL || left < testTTL-5*time.Second {
			t.Errorf("%v left of a lease of %v", left, testTTL)
		}
		if after := s.dump(t); after != before {
			t.Errorf("an attempt that does not queue changed\n%sto\n%s", before, after)
		}

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
			t.Errorf("who came again got the ticket %f for %f", again, ticket)
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
		s.holder("of redislock or Spring")

		s.Set(t.Context(), lockKey, "for ever", 0)
		if left := s.busy("a2", false); left >= 0 {
			t.Errorf("%v left of a lock without a lease", left)
		}
	})
}

func TestScriptForeignType(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.RPush(t.Context(), lockKey, "x", "y")
		before := s.dump(t)
		s.refused("a1", "WRONGTYPE")
		s.release("a1", 0)
		if after := s.dump(t); after != before {
			t.Errorf("changed\n%sto\n%s", before, after)
		}
	})
}

func TestScriptBadFence(t *testing.T) {
	for _, text := range []string{
		"", "42", "not a fence", "1 2 x", "2 1 x -", "1 9007199254740991 x -", "1 99999999999999999999 x -",
		"-1 2 x -", "1e3 2 x -", "1 2 x - y", "1 2 x - 77",
	} {
		t.Run(strconv.Quote(text), func(t *testing.T) {
			eachScripts(t, func(t *testing.T, s scripts) {
				s.take("a1")
				s.Set(t.Context(), fenceKey, text, 0)
				if text == "" {
					s.Del(t.Context(), fenceKey)
					s.RPush(t.Context(), fenceKey, "x")
				}
				// Acquisitions fail, but the holder can release.
				fence := regexp.MustCompile(`(?m)^.*:fence.*$`).FindString(s.dump(t))
				s.release("a1", 1)
				s.holder("")
				if got := regexp.MustCompile(`(?m)^.*:fence.*$`).FindString(s.dump(t)); got != fence {
					t.Errorf("the release changed %q to %q", fence, got)
				}
				if text == "" {
					s.refused("a2", "WRONGTYPE")
				} else {
					s.refused("a2", "BADFENCE")
				}
			})
		})
	}
}
