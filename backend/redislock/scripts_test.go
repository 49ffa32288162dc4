package redislock_test

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const (
	lockKey  = "shop:pay"
	queueKey = "{shop:pay}:queue"

	testTTL   = 10 * time.Second
	testClaim = 500 * time.Millisecond

	// What an owner asks for: to write, to read. Others want a permit: "p2" is one of
	// two.
	writes, reads = "", "r"
)

// scripts calls the scripts for lockKey as the Backend does. The inbox of the owner
// "a1" is "a". A type of its own would have the methods of the client once more, which
// costs the compiler a second.
type scripts = server

// run runs a script once for the locks. The inbox is that of the first owner.
func (s scripts) run(pick func(redislock.Scripts) *luascript.Script, ops ...redislock.ScriptOp) ([]string, error) {
	return s.runFor(testClaim, pick, ops...)
}

func (s scripts) runFor(claim time.Duration, pick func(redislock.Scripts) *luascript.Script, ops ...redislock.ScriptOp) ([]string, error) {
	which := redislock.FastScripts
	if s.slow {
		which = redislock.SlowScripts
	}
	if s.mini != nil {
		time.Sleep(time.Microsecond)
	}
	c := redislock.Caller{
		Client: s.Client, Inbox: ops[0].Owner[:1], Prefix: "in:", Claim: claim,
	}
	if !s.several {
		return c.Run(s.t.Context(), pick(which), ops...)
	}
	// The last lock is one that its owner does not have. Nothing changes there.
	beside := redislock.ScriptOp{Key: "beside", Owner: "beside", TTL: testTTL, Mode: "extend"}
	lines, err := c.Run(s.t.Context(), pick(which), append(slices.Clone(ops), beside)...)
	if n := len(ops); lines != nil {
		if len(lines) != n+1 || lines[n] != "2" && lines[n] != "0" {
			s.t.Errorf("a script answered %q for %d locks, of which the owner of the last does not have it", lines, n+1)
		}
		lines = lines[:n]
	}
	return lines, err
}

func acquires(s redislock.Scripts) *luascript.Script { return s.Acquire }
func releases(s redislock.Scripts) *luascript.Script { return s.Release }
func renews(redislock.Scripts) *luascript.Script     { return redislock.RenewScript }
func forces(redislock.Scripts) *luascript.Script     { return redislock.ForceScript }

// try makes an attempt and returns the reply.
func (s scripts) try(owner, share string, queue bool) (string, error) {
	mode := "try"
	if queue {
		mode = "enqueue"
	}
	lines, err := s.run(acquires, redislock.ScriptOp{Key: lockKey, Owner: owner, TTL: testTTL, Mode: mode, Share: share})
	if err != nil {
		return "", err
	}
	return lines[0], nil
}

func numbers(t *testing.T, line string) []int64 {
	t.Helper()
	var ns []int64
	for _, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatalf("a script answered %q", line)
		}
		ns = append(ns, n)
	}
	return ns
}

// grant parses a reply that grants a lock. It returns the first and the last token.
func grant(t *testing.T, line string) (first, last int64) {
	t.Helper()
	if !regexp.MustCompile(`^1 \d{16} \d{16} [01]$`).MatchString(line) {
		t.Fatalf("%q is not a grant", line)
	}
	ns := numbers(t, line)
	if ns[1] >= ns[2] {
		t.Fatalf("%q has no tokens", line)
	}
	return ns[1] + 1, ns[2]
}

// join acquires and must succeed. It returns the tokens.
func (s scripts) join(owner, share string) (first, last int64) {
	s.t.Helper()
	line, err := s.try(owner, share, true)
	if err != nil {
		s.t.Fatalf("%s does not get the lock %q: %v", owner, share, err)
	}
	return grant(s.t, line)
}

// extend extends an exclusive lease. It returns the tokens.
func (s scripts) extend(owner string) (first, last int64) {
	s.t.Helper()
	lines, err := s.run(acquires, redislock.ScriptOp{Key: lockKey, Owner: owner, TTL: testTTL, Mode: "extend"})
	noError(s.t, err)
	return grant(s.t, lines[0])
}

// kept acquires and must find the lock held or promised. It returns the time left.
func (s scripts) kept(owner, share string, queue bool) time.Duration {
	s.t.Helper()
	line, err := s.try(owner, share, queue)
	match := regexp.MustCompile(`^0 (-?\d+) \d{1,16}( -?\d+ [\w.]*)?$`).FindStringSubmatch(line)
	if err != nil || match == nil {
		s.t.Fatalf("%s is not kept from the lock %q: %q, %v", owner, share, line, err)
	}
	return time.Duration(numbers(s.t, match[1])[0]) * time.Millisecond
}

// refused acquires and must get an error that begins with prefix, and change
// nothing.
func (s scripts) refused(owner, share, prefix string) {
	s.t.Helper()
	for _, queue := range []bool{false, true} {
		s.unchanged(func() {
			s.t.Helper()
			if line, err := s.try(owner, share, queue); !redis.HasErrorPrefix(err, prefix) {
				s.t.Errorf("got %q, %v instead of an error %s", line, err, prefix)
			}
		})
	}
}

// leave releases and checks the reply.
func (s scripts) leave(owner, share string, want int) {
	s.t.Helper()
	s.gives(want, redislock.ScriptOp{Key: lockKey, Owner: owner, Share: share})
}

// leaveInDoubt is leave by an owner with an attempt or a release in doubt.
func (s scripts) leaveInDoubt(owner, share string, want int) {
	s.t.Helper()
	s.gives(want, redislock.ScriptOp{Key: lockKey, Owner: owner, Share: share, InDoubt: true})
}

func (s scripts) gives(want int, op redislock.ScriptOp) {
	s.t.Helper()
	if got, err := s.run(releases, op); err != nil || got[0] != strconv.Itoa(want) {
		s.t.Errorf("release of %s: %q, %v instead of %d", op.Owner, got, err, want)
	}
}

// unchanged calls f, which must not change anything but the clock: a token may be
// issued that is not used.
func (s scripts) unchanged(f func()) {
	s.t.Helper()
	token := regexp.MustCompile(`^` + redislock.ClockKey + ` = \d{16}\n$`)
	state := func() string {
		lines := strings.SplitAfter(s.dump(s.t), "\n")
		slices.Sort(lines)
		return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return token.MatchString(l) }), "")
	}
	before := state()
	f()
	if after := state(); after != before {
		s.t.Errorf("it changed\n%sto\n%s", before, after)
	}
}

// renewed extends leases and checks the reply.
func (s scripts) renewed(want []string, ops ...redislock.ScriptOp) {
	s.t.Helper()
	if got, err := s.run(renews, ops...); err != nil || !slices.Equal(got, want) {
		s.t.Errorf("renewal: %q, %v instead of %q", got, err, want)
	}
}

// holder checks the owner of an exclusive lock; "" is no owner.
func (s scripts) holder(want string) {
	s.t.Helper()
	got := s.Get(s.t.Context(), lockKey).Val()
	if owner, _, _ := strings.Cut(got, " "); owner != want {
		s.t.Errorf("the lock is held by %q instead of %q", got, want)
	}
}

// holders checks the owners of a shared lock, in alphabetical order.
func (s scripts) holders(want ...string) {
	s.t.Helper()
	got := s.ZRange(s.t.Context(), lockKey, 0, -1).Val()
	slices.Sort(got)
	expect(s.t, "the lock is shared by", got, want)
}

// ends sets the end of a holder's lease.
func (s scripts) ends(member string, in time.Duration) {
	s.t.Helper()
	at := float64(s.now() + in.Microseconds())
	if n := s.ZAddArgs(s.t.Context(), lockKey, redis.ZAddArgs{XX: true, Ch: true, Members: []redis.Z{{Score: at, Member: member}}}).Val(); n != 1 {
		s.t.Fatalf("%q is not a holder", member)
	}
}

// lease checks when the lease of a holder ends.
func (s scripts) lease(member string, in time.Duration) {
	s.t.Helper()
	ends := int64(s.ZScore(s.t.Context(), lockKey, member).Val())
	near(s.t, "lease of "+member, time.Duration(ends-s.now())*time.Microsecond, in)
}

func (s scripts) ttl(key string, want time.Duration) {
	s.t.Helper()
	near(s.t, key, s.PTTL(s.t.Context(), key).Val(), want)
}

func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got > want || got < want-5*time.Second || got <= 0 {
		t.Errorf("%s: %v instead of %v", what, got, want)
	}
}

func (s scripts) queue(want ...string) {
	s.t.Helper()
	expect(s.t, "the queue is", s.ZRange(s.t.Context(), queueKey, 0, -1).Val(), want)
}

func (s scripts) now() int64 { return s.Time(s.t.Context()).Val().UnixMicro() }

// last returns the last token that was issued.
func (s scripts) last() int64 {
	s.t.Helper()
	return numbers(s.t, s.Get(s.t.Context(), redislock.ClockKey).Val())[0]
}

// hear subscribes to all inboxes. The returned function returns the channels and owners
// of the messages since then, makes sure that there are no others, and that they tell
// of a grant for the claim window: the tokens rise from message to message.
func (s scripts) hear() func() []string { return s.hearFor(testClaim) }

func (s scripts) hearFor(claim time.Duration) func() []string {
	s.t.Helper()
	sub := s.PSubscribe(s.t.Context(), "in:?", "in:end")
	s.t.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	messages := sub.Channel(redis.WithChannelHealthCheckInterval(0)) // reads them at once: the simulated server waits for that
	return func() []string {
		s.t.Helper()
		s.Publish(context.Background(), "in:end", "end")
		var got []string
		var highest int64
		for {
			m := <-messages
			if m.Channel == "in:end" {
				return got
			}
			owner, rest, _ := strings.Cut(m.Payload, " ")
			ms, tokens, _ := strings.Cut(rest, " ")
			if ms != strconv.FormatInt(claim.Milliseconds(), 10) {
				s.t.Errorf("the message %q is not of a grant for %v", m.Payload, claim)
			}
			first, last := grant(s.t, "1 "+tokens)
			if first <= highest {
				s.t.Errorf("the message %q follows one with the token %d", m.Payload, highest)
			}
			highest = last
			got = append(got, m.Channel+" "+owner)
		}
	}
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q instead of %q", what, got, want)
	}
}

// eachScripts runs f on each server and for each variant. On the simulated server, time
// is virtual, and moves by a microsecond with each call.
func eachScripts(t *testing.T, f func(t *testing.T, s scripts)) {
	t.Helper()
	eachVariant(t, func(t *testing.T, v variant) {
		testkit.InBubble(t, "miniredis", func(t *testing.T) {
			m := redistest.Virtual(t)
			f(t, scripts{Client: redistest.VirtualClient(t, m), mini: m, variant: v, t: t})
		})
		t.Run("redis", func(t *testing.T) {
			t.Parallel()
			s := realServer(t)
			s.variant, s.t = v, t
			f(t, s)
		})
	})
}

// variant is how scripts are run: without their fast parts, or with another lock in
// the same call.
type variant struct{ slow, several bool }

func eachVariant(t *testing.T, f func(t *testing.T, v variant)) {
	t.Helper()
	for name, v := range map[string]variant{"fast": {}, "slow": {slow: true}, "several": {several: true}} {
		t.Run(name, func(t *testing.T) { f(t, v) })
	}
}
