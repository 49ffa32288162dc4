package redislock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// step is what happens to a lock when the server's clock is at this time.
type step struct {
	at time.Duration
	do func(u *user)
}

// user uses one key from two processes, and checks that tokens rise.
type user struct {
	t      *testing.T
	s      server
	key    string
	bs     [2]*redislock.Backend // of the next owner, and of the one before
	ask    func(key string) driver.Request
	tokens int

	held driver.Grant
	last uint64
	next *testkit.Waiter
}

// request returns what the next owner asks for.
func (u *user) request() driver.Request {
	u.bs[0], u.bs[1] = u.bs[1], u.bs[0]
	r := u.ask(u.key)
	r.Tokens, r.TTL = u.tokens, 10*time.Second
	return r
}

// has is called when an owner has got the key.
func (u *user) has(g driver.Grant, err error) {
	u.t.Helper()
	noError(u.t, err)
	if g.Token <= u.last {
		u.t.Errorf("token %d after %d: less by %d", g.Token, u.last, u.last-g.Token)
	}
	u.held, u.last = g, g.LastToken
}

// take acquires the key, which is free.
func take(u *user) {
	u.t.Helper()
	r := u.request()
	g, err := u.bs[0].TryAcquire(u.t.Context(), r)
	u.has(g, err)
}

// release releases the key.
func release(u *user) {
	u.t.Helper()
	mustRelease(u.t, u.bs[0], u.held)
}

// use acquires and releases the key.
func use(u *user) {
	u.t.Helper()
	take(u)
	release(u)
}

// renew renews the lease.
func renew(u *user) {
	u.t.Helper()
	renewed(u.t, driver.RenewAll(u.t.Context(), u.bs[0], []driver.Grant{u.held}), all("extended"))
}

// wait queues in the other process.
func wait(u *user) {
	u.t.Helper()
	r := u.request()
	if r.Mode == driver.Shared {
		r.Mode = driver.Exclusive // a reader would not wait for a reader
	}
	u.next = testkit.StartWaiter(u.t, u.bs[0], r)
	testkit.Eventually(u.t, "it waits", func() bool { return u.s.ZCard(u.t.Context(), "{"+u.key+"}:queue").Val() == 1 })
}

// handOver releases the key, for the waiter.
func handOver(u *user) {
	u.t.Helper()
	mustRelease(u.t, u.bs[1], u.held)
	<-u.next.Done
	u.has(u.next.Got, u.next.Err)
}

// lapse checks that the lease has ended.
func lapse(u *user) {
	u.t.Helper()
	if u.s.Exists(u.t.Context(), u.key).Val() != 0 {
		u.t.Fatal("the lease has not ended")
	}
}

// clockSteps returns the histories of a lock. In each the server's clock is set back.
func clockSteps() map[string][]step {
	const ahead, rest, ended = 2 * time.Hour, 16 * time.Minute, 11 * time.Second
	all := map[string][]step{
		"ahead, corrected while free":              {{ahead, use}, {0, use}, {rest, use}},
		"ahead, corrected while held":              {{ahead, take}, {0, release}, {rest, use}},
		"ahead, corrected while renewed":           {{ahead, take}, {0, renew}, {time.Second, release}, {rest, use}},
		"ahead, corrected while another waits":     {{ahead, take}, {ahead, wait}, {0, handOver}, {0, release}, {rest, use}},
		"ahead, corrected while nobody uses it":    {{ahead, use}, {0, lapse}, {rest, use}},
		"ahead, corrected after the lease":         {{ahead, take}, {ahead + ended, lapse}, {0, lapse}, {rest, use}},
		"back after the lease":                     {{0, take}, {ended, lapse}, {ended - 50*time.Millisecond, use}},
		"back by more than the time of the lease":  {{0, take}, {ended, lapse}, {ended - time.Hour, use}},
		"back after a rest":                        {{0, use}, {rest, lapse}, {rest - time.Hour, use}},
		"back after a rest that follows the lease": {{0, take}, {rest, lapse}, {rest - time.Hour, use}},
		"back by little, again and again":          nil,
	}
	for i := range 20 {
		at := -time.Duration(i) * 2 * time.Millisecond
		all["back by little, again and again"] = append(all["back by little, again and again"], step{at, use})
	}
	for _, back := range []time.Duration{2 * time.Millisecond, 50 * time.Millisecond, time.Second, time.Hour} {
		for _, hold := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 2 * time.Second} {
			name := fmt.Sprintf("back by %v, held for %v", back, hold)
			all[name+", after the release"] = []step{{0, take}, {hold, release}, {hold - back, use}, {hold - back, use}}
			all[name+", before the release"] = []step{{0, take}, {hold - back, release}, {hold - back, use}}
			all[name+", after a renewal"] = []step{{0, take}, {hold, renew}, {hold - back, release}, {hold - back, use}}
			all[name+", before a hand-over"] = []step{{0, take}, {hold, wait}, {hold - back, handOver}, {hold - back, release}, {hold - back, use}}
		}
	}
	return all
}

// The server's clock is set back, by little or by much, before or after a release,
// while the key is held, after its lease has ended, after a long rest: each token of
// the key is larger than all before.
func TestTokensRiseWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	clock := redistest.NewClock(t)
	process := clock.Start(t)
	s := server{Client: process.Client(t), real: process}
	a, b := newBackend(t, s.Client), newBackend(t, s.Client)
	for mode, ask := range modes {
		for name, steps := range clockSteps() {
			for _, tokens := range []int{1, 64} {
				t.Run(fmt.Sprintf("%s/%s/%d tokens", mode, name, tokens), func(t *testing.T) {
					clock.Set(t, 0)
					s.FlushAll(t.Context())
					u := &user{t: t, s: s, key: lockKey, bs: [2]*redislock.Backend{a, b}, ask: ask, tokens: tokens}
					for _, step := range steps {
						clock.Set(t, step.at)
						step.do(u)
					}
				})
			}
		}
	}
}
