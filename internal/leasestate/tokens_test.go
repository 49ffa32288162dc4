package leasestate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/leasestate"
)

// handsOver hands the lease over n times, to writers or to more readers.
func (s *lease) handsOver(n int) {
	s.t.Helper()
	for i := range n {
		if s.Class().Shares() {
			s.attaches(true)
		} else {
			s.transfers(true)
		}
		s.assign(fmt.Sprint(time.Now(), i), 0)
	}
}

func (s *lease) handsOverNoMore() {
	s.t.Helper()
	s.attaches(false)
	s.transfers(false)
}

func TestHandOversAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		minTime time.Duration
		first   int           // hand-overs at once
		pause   time.Duration // after them
		more    int           // hand-overs after the pause
	}{
		"by their number":                {0, leasestate.MinHandOvers, 0, 0},
		"by their number, later":         {0, leasestate.MinHandOvers - 1, time.Hour - 1, 1},
		"by the time":                    {time.Second, 1000, time.Second, 0},
		"shortly before the time":        {time.Second, 1000, time.Second - 1, 1000},
		"by their number after the time": {time.Second, 1, time.Minute, leasestate.MinHandOvers - 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				for _, class := range []compat.Class{writer, reader} {
					class.TTL = 4 * time.Hour
					s := &lease{t: t}
					g := driver.Grant{Key: "k", Owner: "o", TTL: class.TTL, Sent: time.Now()}
					time.Sleep(time.Minute) // the answer is late, which does not count
					l := leasestate.Limits{MinTime: c.minTime, MaxTime: time.Hour}
					s.Init(time.Now(), g, class, l, nil)
					s.assign("first", 0)
					s.handsOver(c.first)
					time.Sleep(c.pause)
					s.handsOver(c.more)
					if c.minTime > 0 && c.pause < c.minTime {
						time.Sleep(c.minTime - c.pause)
					}
					s.handsOverNoMore()
				}
			})
		})
	}
}

// asks checks whether the store is to be asked for more tokens.
func (s *lease) asks(want bool) chan struct{} {
	s.t.Helper()
	done := s.RequestExtend()
	if (done != nil) != want {
		s.t.Fatalf("the store is asked for more tokens: %v", !want)
	}
	return done
}

// The store is asked early enough for the answer to come before the rest is used, but not
// for a key that changes hands now and then.
func TestWhenMoreTokensAreAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		tokens  uint64
		minTime time.Duration
		every   time.Duration // a hand-over
		want    int           // after so many hand-overs
	}{
		"by the number of hand-overs":    {0, 0, 0, 9},
		"by the tokens":                  {20, 0, 0, 3},
		"few tokens":                     {5, time.Second, 0, 1},
		"many tokens, in no time":        {1024, time.Second, 0, 129},
		"by the time":                    {1024, 800 * time.Millisecond, 5 * time.Millisecond, 20},
		"not for long holds":             {1024, time.Second, time.Minute, 9},
		"by the time, without tokens":    {0, 800 * time.Millisecond, 5 * time.Millisecond, 20},
		"a block that ends with its one": {1, time.Second, time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &lease{t: t}
				g := driver.Grant{TTL: 10 * time.Hour, Sent: time.Now(), Token: min(c.tokens, 1), LastToken: c.tokens}
				l := leasestate.Limits{MinTime: c.minTime, MaxTime: time.Hour, Extend: true}
				s.Init(time.Now(), g, compat.Class{TTL: g.TTL}, l, nil)
				s.assign("first", 0)
				for range c.want {
					s.asks(false)
					time.Sleep(c.every)
					s.handsOver(1)
				}
				if c.want > 0 {
					s.asks(true)
					return
				}
				s.asks(false) // it is not known whether another holder comes
				if pending := s.transfers(false); pending != (<-chan struct{})(s.asks(true)) {
					t.Error("Transfer does not say that the answer is pending")
				}
			})
		})
	}
}

// The time of a range that the store issued later counts from the request for it: then no
// other owner waited.
func TestTimeCountsFromTheLastAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newLease(t, writer, leasestate.Limits{MinTime: time.Second, MaxTime: time.Hour, Extend: true}, false)
		s.assign("first", 0)
		time.Sleep(time.Second / 2)
		s.handsOver(leasestate.MinHandOvers)
		sent := time.Now()
		s.asks(true)
		time.Sleep(time.Second / 4)
		s.AddTokens(driver.Grant{Sent: sent})
		time.Sleep(time.Second / 2)
		s.handsOver(leasestate.MinHandOvers) // of the new range
		time.Sleep(time.Second/4 - 1)
		s.handsOver(leasestate.MinHandOvers)
		time.Sleep(time.Nanosecond)
		s.transfers(false)
	})
}

func TestMoreTokensAreNotAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		contended := &lease{t: t}
		contended.Init(time.Now(), driver.Grant{TTL: ttl, Sent: time.Now(), Contended: true}, writer, limits, nil)
		mute := newLease(t, writer, leasestate.Limits{MaxTime: limits.MaxTime}, false)
		for name, s := range map[string]*lease{"other owners wait": contended, "the store cannot be asked": mute} {
			s.assign("first", 0)
			s.handsOver(leasestate.MinHandOvers)
			if pending := s.transfers(false); pending != nil || s.RequestExtend() != nil {
				t.Errorf("asked although %s", name)
			}
		}
		over := newLease(t, writer, limits, false)
		_ = over.Release()
		over.AddTokens(driver.Grant{Token: 7, LastToken: 9})
		if g := over.LastGrant(); g.LastToken != 0 {
			t.Error("took tokens after the end")
		}
	})
}
