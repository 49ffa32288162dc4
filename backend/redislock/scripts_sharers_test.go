package redislock_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

// reads is the request of a reader. Others want a permit: "p2" is one of two.
const reads = "r"

func (s scripts) shareN(owner, share string, queue bool, tokens int) ([]int64, error) {
	mode := "try"
	if queue {
		mode = "enqueue"
	}
	lines, err := redislock.RunShare(s.t.Context(), s.Client, owner[:1], testClaim, "in:",
		redislock.ScriptOp{Key: lockKey, Owner: owner, TTL: testTTL, Tokens: tokens, Mode: mode, Share: share})
	if err != nil {
		return nil, err
	}
	return numbers(s.t, lines[0]), nil
}

// join acquires a share and must succeed. It returns the tokens.
func (s scripts) join(owner, share string) (first, last int64) {
	s.t.Helper()
	r, err := s.shareN(owner, share, true, 8)
	if err != nil || len(r) != 4 || r[0] != 1 {
		s.t.Fatalf("%s does not get %s: %v, %v", owner, share, r, err)
	}
	return r[1], r[2]
}

// kept requests a share and must be refused. It returns the time left.
func (s scripts) kept(owner, share string, queue bool) time.Duration {
	s.t.Helper()
	r, err := s.shareN(owner, share, queue, 1)
	if err != nil || len(r) < 2 || r[0] != 0 {
		s.t.Fatalf("%s is not kept from %s: %v, %v", owner, share, r, err)
	}
	return time.Duration(r[1]) * time.Millisecond
}

func (s scripts) leaveErr(owner, share string, inDoubt bool, lastToken int64) (int, error) {
	lines, err := redislock.RunUnshare(s.t.Context(), s.Client, owner[:1], testClaim, "in:",
		redislock.ScriptOp{Key: lockKey, Owner: owner, InDoubt: inDoubt, LastToken: lastToken, Share: share})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(lines[0])
}

func (s scripts) leave(owner, share string, want int) {
	s.t.Helper()
	if got, err := s.leaveErr(owner, share, false, 0); err != nil || got != want {
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
