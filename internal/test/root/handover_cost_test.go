package test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// setTrip makes each request take as long as trip says, half of it on the way to the store.
func setTrip(s *testkit.Store, trip func() time.Duration) {
	half := func(context.Context, *testkit.Call) error { time.Sleep(trip() / 2); return nil }
	s.Before(half)
	s.After(half)
}

// rivals is what happens when two busy Lockers want the same key.
type rivals struct {
	locks   [2]int
	used    float64       // part of the time in which the key is held
	kept    time.Duration // the longest time that one Locker kept it
	longest time.Duration // the longest wait
}

// measure has l measure how long the store takes to answer.
func measure(t *testing.T, l *distlock.Locker) {
	t.Helper()
	for range 100 {
		wantIs(t, testkit.MustAcquire(t, l, "other", distlock.Opts{}).Release(t.Context()))
	}
}

// compete has two Lockers that have measured the store compete for a key, with several
// goroutines each. The store gives at most that many tokens, if tokens is above 0.
func compete(t *testing.T, tokens int, hold, trip time.Duration) rivals {
	t.Helper()
	s := testkit.NewStore()
	if tokens > 0 {
		s.LimitTokens(tokens)
	}
	setTrip(s, func() time.Duration { return trip/2 + rand.N(trip) })
	lockers := []*distlock.Locker{testkit.NewLocker(t, s, distlock.Config{}), testkit.NewLocker(t, s, distlock.Config{})}
	for _, l := range lockers {
		measure(t, l)
	}
	var (
		r     rivals
		all   sync.WaitGroup
		start = time.Now()
		span  = 400 * trip
		last  = -1      // the Locker that had the key last
		since time.Time // when it got it
		busy  time.Duration
	)
	for i, l := range lockers {
		for range 4 {
			all.Go(func() {
				for asked := start; time.Since(start) < span; asked = time.Now() {
					wantIs(t, l.Do(t.Context(), "k", distlock.Opts{}, func(context.Context) error {
						now := time.Now()
						if last != i {
							last, since = i, now
						}
						time.Sleep(hold)
						r.locks[i]++
						busy += hold
						r.longest = max(r.longest, now.Sub(asked))
						r.kept = max(r.kept, time.Since(since))
						return nil
					}))
				}
			})
		}
	}
	all.Wait()
	r.used = float64(busy) / float64(span)
	return r
}

// A process keeps a key that others wait for about as long as ten changes of process take,
// which is 40 of the fastest round trips, but at most for HandOverTime. The shares of the
// processes are equal, and the wait grows by no more than that time.
func TestHandOversFollowTheCostOfAChange(t *testing.T) {
	for _, c := range []struct{ trip, hold, keep time.Duration }{
		{200 * time.Microsecond, 20 * time.Microsecond, 4 * time.Millisecond},
		{time.Millisecond, 50 * time.Microsecond, 20 * time.Millisecond},
		{20 * time.Millisecond, time.Millisecond, handOverTime},
		{time.Millisecond, time.Millisecond, 65 * time.Millisecond}, // a change costs little
	} {
		testkit.InBubble(t, fmt.Sprint(c.trip, " by ", c.hold), func(t *testing.T) {
			few := compete(t, 1+64, c.hold, c.trip)
			got := compete(t, 0, c.hold, c.trip)
			t.Logf("with 64 hand-overs %+v, by default %+v", few, got)
			if got.kept < c.keep*3/4 || got.kept > c.keep*3/2 {
				t.Errorf("one process kept the key for %v, want about %v", got.kept, c.keep)
			}
			if got.longest > few.longest+c.keep*3/2 {
				t.Errorf("the longest wait is %v; with 64 hand-overs it is %v", got.longest, few.longest)
			}
			if least := min(got.locks[0], got.locks[1]); max(got.locks[0], got.locks[1]) > 2*least {
				t.Errorf("unequal shares: %v", got.locks)
			}
			if c.keep < handOverTime && got.used < 0.9 {
				t.Errorf("the key is held %.0f %% of the time", 100*got.used)
			}
		})
	}
}

// While no other process waits the key does not stand still, although the store gives few
// tokens at a time and the answers take long. With one token at a time, each hand-over takes
// one round trip, not two.
func TestKeyDoesNotStandStill(t *testing.T) {
	const trip, holders = time.Millisecond, 1000
	for name, c := range map[string]struct {
		tokens int // 0: as many as requested
		hold   time.Duration
		still  time.Duration // for each holder
	}{
		"as many tokens as requested":   {0, 10 * time.Microsecond, 0},
		"20 tokens":                     {20, 70 * time.Microsecond, 0},
		"20 tokens, short holds":        {20, 10 * time.Microsecond, (trip - 17*10*time.Microsecond) / 20},
		"one token":                     {1, 10 * time.Microsecond, trip},
		"one token, long holds":         {1, time.Second, 0},
		"as many as requested, as long": {0, time.Second, 0},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			s := testkit.NewStore()
			if c.tokens > 0 {
				s.LimitTokens(c.tokens)
			}
			setTrip(s, func() time.Duration { return trip })
			l := distlock.New(extending(s), distlock.Config{HandOverTime: 10 * time.Hour})
			measure(t, l)
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			var all sync.WaitGroup
			line(t, &all, l, holders, distlock.Opts{}, func(context.Context, int) { time.Sleep(c.hold) })
			start := time.Now()
			wantIs(t, held.Release(t.Context()))
			all.Wait()
			if still := (time.Since(start) - trip - holders*c.hold) / holders; still > c.still+time.Microsecond {
				t.Errorf("the key stands still for %v for each holder, want %v", still, c.still)
			}
			if n := len(s.Calls(testkit.Enqueue)); n != 100+1 {
				t.Errorf("%d acquisitions in the store, want 1", n-100)
			}
			wantIs(t, l.Close())
			nothingLeft(t, l, s)
		})
	}
}
