package redislock_test

import (
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

// reads is the request of a reader. Others want a permit: "p2" is one of two.
const reads = "r"

// join acquires a share and must succeed. It returns the tokens.
func (s scripts) join(owner, share string) (first, last int64) {
	s.t.Helper()
	line, err := s.try(owner, share, true)
	if err != nil {
		s.t.Fatalf("%s does not get %s: %v", owner, share, err)
	}
	return grant(s.t, line)
}

// kept requests a share and must be refused. It returns the time left.
func (s scripts) kept(owner, share string, queue bool) time.Duration {
	s.t.Helper()
	line, err := s.try(owner, share, queue)
	match := regexp.MustCompile(`^0 (-?\d+) \d{1,16}( -?\d+ [\w.]*)?$`).FindStringSubmatch(line)
	if err != nil || match == nil {
		s.t.Fatalf("%s is not kept from the lock %q: %q, %v", owner, share, line, err)
	}
	return time.Duration(numbers(s.t, match[1])[0]) * time.Millisecond
}

func (s scripts) leaveErr(owner, share string, inDoubt bool) (int, error) {
	lines, err := s.run(releases, redislock.ScriptOp{Key: lockKey, Owner: owner, InDoubt: inDoubt, Share: share})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(lines[0])
}

func (s scripts) leave(owner, share string, want int) {
	s.t.Helper()
	if got, err := s.leaveErr(owner, share, false); err != nil || got != want {
		s.t.Errorf("release of %s: %d, %v instead of %d", owner, got, err, want)
	}
}

// holders checks the owners of the lock, in alphabetical order.
func (s scripts) holders(want ...string) {
	s.t.Helper()
	got := s.ZRange(s.t.Context(), lockKey, 0, -1).Val()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.t.Errorf("the lock is shared by %q instead of %q", got, want)
	}
}

// holdersAfter first makes an attempt, which removes expired holders.
func (s scripts) holdersAfter(want ...string) {
	s.t.Helper()
	s.busy("z1", false)
	s.holders(want...)
}

// ends sets the end of a holder's lease.
func (s scripts) ends(member string, in time.Duration) {
	s.t.Helper()
	at := float64(s.now() + in.Microseconds())
	if n := s.ZAddArgs(s.t.Context(), lockKey, redis.ZAddArgs{XX: true, Ch: true, Members: []redis.Z{{Score: at, Member: member}}}).Val(); n != 1 {
		s.t.Fatalf("%q is not a holder", member)
	}
}

func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got > want || got < want-5*time.Second || got <= 0 {
		t.Errorf("%s: %v instead of %v", what, got, want)
	}
}

// lease checks when the lease of a holder ends.
func (s scripts) lease(member string, in time.Duration) {
	s.t.Helper()
	ends := int64(s.ZScore(s.t.Context(), lockKey, member).Val())
	near(s.t, "lease of "+member, time.Duration(ends-s.now())*time.Microsecond, in)
}
