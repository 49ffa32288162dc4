package redislock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestScriptUnshareIsIdempotent(t *testing.T) {
	eachScripts(t, func(_ *testing.T, s scripts) {
		s.join("a1", reads)
		s.join("b1", reads)
		s.leave("c1", reads, 0)
		s.leave("a1", reads, 1)
		s.leave("b1", reads, 1)
		s.leave("a1", reads, 1)
		s.leave("c1", reads, 2)
		s.take("d1")
		s.leave("a1", reads, 1)
		s.leave("c1", reads, 0)
		s.holder("d1")
	})
}

func TestScriptShareGone(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		gone := func(owner string) {
			t.Helper()
			for _, queue := range []bool{false, true} {
				before := s.dump(t)
				if r, err := s.shareN(owner, reads, queue, 1); !redis.HasErrorPrefix(err, "GONE") {
					t.Errorf("got %v, %v instead of GONE", r, err)
				}
				if after := s.dump(t); after != before {
					t.Errorf("a refused acquisition changed\n%sto\n%s", before, after)
				}
			}
		}
		s.join("a1", reads)
		s.leave("a1", reads, 1)
		gone("a1")
		s.refused("a1", "GONE")
		s.take("x1")
		s.kept("a1", reads, false) // its reply is sufficient
		s.release("x1", 1)
		if got, err := s.leaveErr("b1", reads, true, 0); err != nil || got != 2 {
			t.Fatalf("release of who never had it: %d, %v", got, err)
		}
		if got, err := s.leaveErr("b1", reads, true, 0); err != nil || got != 2 {
			t.Errorf("release of who never had it, again: %d, %v", got, err)
		}
		gone("b1")

		// Releases are recorded for a while; they do not displace owners in doubt.
		for i := range 16 {
			owner := fmt.Sprint("c", i)
			s.join(owner, reads)
			s.leave(owner, reads, 1)
		}
		gone("b1")
		gone("c0")
		s.leave("c0", reads, 1)
		s.leave("a1", reads, 2)

		// Nor the reverse.
		for i := range 20 {
			if _, err := s.leaveErr(fmt.Sprint("d", i), reads, true, 0); err != nil {
				t.Fatal(err)
			}
		}
		gone("c0")
		gone("d19")
		if got, err := s.releaseErr("e1", true, 0); err != nil || got != 2 {
			t.Errorf("release of an exclusive lock: %d, %v", got, err)
		}
		gone("c0")
		s.join("b1", reads) // no longer recorded
	})
}

func TestScriptUnshareRestoresCounter(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.join("a1", reads)
		_, last := s.join("b1", reads)
		s.Del(t.Context(), fenceKey)
		ahead := last + time.Hour.Microseconds() // as if the clock were set back meanwhile
		for owner, minted := range map[string]int64{"a1": ahead - 5, "b1": ahead} {
			if _, err := s.leaveErr(owner, reads, false, minted); err != nil {
				t.Fatal(err)
			}
		}
		if first, _ := s.join("c1", reads); first != ahead+1 {
			t.Errorf("token %d after %d", first, ahead)
		}
	})
}
