package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Row 4 (redlock): tokens rise although nodes are down, restart empty, or return with
// an old counter. Fails if tokens follow the counter of the first node that answers
// instead of the highest.
func TestTokensOverRestarts(t *testing.T) {
	testmode.Long(t)
	f := realFleet(t, 5)
	const lease = 200 * time.Millisecond
	b := f.backend(t, redlock.Config{Tokens: true, MaxLease: lease, NodeTimeout: 50 * time.Millisecond})
	var last driver.Grant
	grant := func(what string) {
		t.Helper()
		r := shorter(request(), lease)
		r.Tokens = 16
		var g driver.Grant
		testkit.Eventually(t, "it is granted "+what, func() (ok bool) {
			var err error
			g, err = b.TryAcquire(context.Background(), r)
			return err == nil
		})
		if g.Token <= last.LastToken || g.LastToken < g.Token {
			t.Fatalf("%s: tokens %d to %d after %d", what, g.Token, g.LastToken, last.LastToken)
		}
		last = g
		_ = b.Release(context.Background(), g) // its lease is short and may have ended
	}
	for i := range 5 {
		one, two := i, (i+2)%5
		old := f.admins[one].Get(t.Context(), "{"+lockKey+"}:token").Val()
		grant("before")
		f.servers[one].Kill()
		f.servers[two].Kill()
		grant(fmt.Sprintf("without %d and %d", one, two))
		f.servers[one].Restart()
		f.servers[two].Restart()
		if old != "" {
			if err := f.admins[one].Set(t.Context(), "{"+lockKey+"}:token", old, time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
		}
		grant("with both back")
		// The next minority includes the nodes that had the counter.
		testkit.Eventually(t, "all are trusted", func() bool {
			r := shorter(request(), lease)
			if _, err := b.TryAcquire(context.Background(), r); err != nil {
				return false
			}
			ok := true
			for n := range 5 {
				ok = ok && f.admins[n].Exists(context.Background(), redlock.MarkerKey).Val() == 1
			}
			_ = b.Release(context.Background(), r.Grant())
			return ok
		})
	}
}

// A counter that is ahead of all clocks, as after a clock was set back, is known to any
// quorum: the next token is higher on any nodes.
func TestVirtualTokensAheadOfClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 5)
		b := f.backend(t, redlock.Config{Tokens: true})
		g := testkit.MustTry(t, b, request())
		testkit.MustRelease(t, b, g)
		synctest.Wait()
		const ahead uint64 = 5_000_000_000_000_000
		token := "{" + lockKey + "}:token"
		for _, i := range []int{1, 2, 3} { // the state of a quorum
			f.admins[i].Set(t.Context(), token, fmt.Sprintf("%d %d x x", ahead, ahead), time.Hour)
		}
		for i, others := range [][]int{{1, 2}, {2, 3}, {1, 3}, {0, 1}, {3, 4}} {
			f.put(t, "others", time.Minute, others...)
			g := testkit.MustTry(t, b, request())
			if want := ahead + uint64(i) + 1; g.Token != want {
				t.Errorf("without %v: token %d, want %d", others, g.Token, want)
			}
			testkit.MustRelease(t, b, g)
			f.del(t, lockKey, others...)
			synctest.Wait()
		}
	})
}

// The clock of one node was two hours ahead when tokens were minted, and was corrected.
// Then the key is not used for longer than the retention: the counters are kept until
// the clocks have passed the tokens.
func TestVirtualTokensOutliveAClockThatWasAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b := f.backend(t, redlock.Config{Tokens: true})
		ahead := time.Now().Add(2 * time.Hour).UnixMicro()
		for _, i := range []int{0, 1} { // the node with that clock, and another one of its quorum
			f.admins[i].Set(t.Context(), "{"+lockKey+"}:token", fmt.Sprintf("%d %d x x", ahead, ahead), time.Minute)
		}
		var last uint64
		for _, pause := range []time.Duration{0, 16 * time.Minute, 2*time.Hour - time.Minute, 3 * time.Hour} {
			time.Sleep(pause)
			g := testkit.MustTry(t, b, request())
			if g.Token <= last || g.Token <= uint64(ahead) {
				t.Errorf("token %d after a pause of %v, want more than %d and %d", g.Token, pause, last, ahead)
			}
			last = g.Token
			testkit.MustRelease(t, b, g)
			synctest.Wait()
		}
		for i, c := range f.admins {
			if left := c.PTTL(t.Context(), "{"+lockKey+"}:token").Val(); left != 15*time.Minute {
				t.Errorf("node %d keeps the counter for %v when its clock has passed the token", i, left)
			}
		}
	})
}

// The lock is lost on a majority before its tokens are stored: nodes without the lock
// do not count, because the next grant may read its tokens from these nodes alone.
func TestVirtualTokensAreStoredBesideTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		cs := f.clients()
		b := newBackend(t, plainly(cs), redlock.Config{Tokens: true})
		for i, c := range cs[:2] {
			c.(*redis.Client).AddHook(onScript(func(hash string, _ int) {
				if hash == redlock.MintHash {
					f.del(t, lockKey, i)
				}
			}))
		}
		g, err := b.TryAcquire(t.Context(), request())
		if err == nil || errors.Is(err, driver.ErrNotAcquired) {
			t.Errorf("granted with tokens %d to %d: %v", g.Token, g.LastToken, err)
		}
		synctest.Wait()
		f.mustHave(t, "", 3)
	})
}

// A node that answers late knows a higher token than those that were minted meanwhile.
// It keeps the higher one.
func TestVirtualNoNodeForgetsAHigherToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b, networks := spoilt(t, f, 2*time.Second, redlock.Config{Tokens: true})
		f.warm(t, b)
		const counter = "5000000000000000 5000000000000000 x x"
		f.admins[2].Set(t.Context(), "{"+lockKey+"}:token", counter, time.Hour)
		networks[2].At(spoilnet.Hold, callOf(redlock.AcquireHash))
		testkit.MustTry(t, b, request())
		deliver(t, networks[2])
		quiet(t, b)
		synctest.Wait()
		if got := f.admins[2].Get(t.Context(), "{"+lockKey+"}:token").Val(); got != counter {
			t.Errorf("the counter is %q, want %q", got, counter)
		}
	})
}

// TestNextTokens: an owner that asks again gets the same tokens, unless another owner has
// minted since.
func TestNextTokens(t *testing.T) {
	for name, c := range map[string]struct {
		known       []redlock.NodeTokens
		first, last uint64
	}{
		"unknown":   {[]redlock.NodeTokens{{Now: 100}, {Now: 90}}, 100, 100},
		"repeated":  {[]redlock.NodeTokens{{100, 20, 23, true}, {100, 10, 13, false}}, 20, 23},
		"overtaken": {[]redlock.NodeTokens{{100, 20, 23, true}, {100, 30, 33, false}}, 97, 100},
		"ahead":     {[]redlock.NodeTokens{{100, 20, 23, true}, {100, 200, 203, false}}, 204, 204},
	} {
		if first, last := redlock.NextTokens(4, c.known...); first != c.first || last != c.last {
			t.Errorf("%s: %d to %d, want %d to %d", name, first, last, c.first, c.last)
		}
	}
}
