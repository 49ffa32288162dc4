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

// asks checks for how many tokens the store is to be asked now; 0: it is not.
func (s *lease) asks(want int) chan struct{} {
	s.t.Helper()
	done, tokens := s.RequestExtend()
	if tokens != want || (done != nil) != (want > 0) {
		s.t.Fatalf("the store is asked for %d tokens, want %d", tokens, want)
	}
	return done
}

// Once others wait, the lease goes to the callers that came before that was known: at the
// grant, or when the store was asked. A store that cannot be asked gives half a millisecond.
func TestWhoCameBeforeTheOthersGetsTheLease(t *testing.T) {
	const all = 1 << 40
	mute := leasestate.Limits{MaxTime: limits.MaxTime}
	for name, c := range map[string]struct {
		limits leasestate.Limits
		learn  func(s *lease) // when 7 callers have come
		last   uint64
	}{
		"contended":        {limits, func(s *lease) { s.OthersWait(7) }, 7},
		"the longest wait": {limits, func(s *lease) { s.OthersWait(7); s.OthersWait(9) }, 7},
		"refused": {limits, func(s *lease) {
			s.handsOver(1)
			s.asks(driver.MaxTokens)
			s.newest = 9
			time.Sleep(time.Millisecond)
			s.NotExtended()
		}, 7},
		"not answered yet": {limits, func(s *lease) { s.handsOver(1); s.asks(driver.MaxTokens) }, all},
		"extended": {limits, func(s *lease) {
			s.handsOver(1)
			s.asks(driver.MaxTokens)
			s.Extended(driver.Grant{Sent: time.Now()}, time.Now())
		}, all},
		"mute, at once": {mute, func(s *lease) { s.handsOver(1) }, all},
		"mute, later":   {mute, func(s *lease) { time.Sleep(time.Millisecond); s.handsOver(1); s.newest = 9 }, 7},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newLease(t, writer, c.limits, false)
				s.assign("first", 0)
				s.newest = 7
				if c.limits.Extend {
					time.Sleep(time.Nanosecond)
				}
				c.learn(s)
				s.ticket = c.last
				s.handsOver(1)
				if c.last < all {
					s.asks(0)
					s.ticket++
					s.attaches(false)
					s.transfers(false)
				}
			})
		})
	}
}

// The store is asked at the first hand-over, after an answer again when four times as long has
// passed, and early enough for the answer to come before the tokens are used.
func TestWhenTheStoreIsAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &lease{t: t}
		grant := func(n uint64) driver.Grant {
			first := s.LastGrant().LastToken + 1
			return driver.Grant{TTL: ttl, Sent: time.Now(), Token: first, LastToken: first + n - 1}
		}
		s.Init(time.Now(), grant(80), writer, limits, nil)
		s.assign("first", 0)
		s.handsOver(1)
		s.asks(0) // no time has passed
		for _, want := range []int{driver.MaxTokens, 1, 1} {
			time.Sleep(time.Nanosecond)
			s.handsOver(1)
			s.asks(want)
			s.handsOver(1)
			s.asks(0)
			g := grant(uint64(min(want, 16)))
			time.Sleep(time.Millisecond)
			s.Extended(g, time.Now())
			time.Sleep(4 * time.Millisecond)
			s.handsOver(1)
			s.asks(0)
		}
		s.handsOver(80 - 11) // the rest
		s.asks(0)
		s.handsOver(1) // of 16
		s.asks(0)
		s.handsOver(1)
		done := s.asks(driver.MaxTokens)
		s.handsOver(14)
		if pending := s.transfers(false); pending != (<-chan struct{})(done) {
			t.Error("Transfer does not say that the answer is pending")
		}
		s.Extended(grant(2), time.Now())
		s.handsOver(1)
		if a := s.LastGrant(); a.LastToken != 80+16+2+2 {
			t.Errorf("%d tokens were issued", a.LastToken)
		}
	})
}

// The last token of a range is no reason to ask: it is not known whether another holder comes.
func TestOneTokenIsUsedFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &lease{t: t}
		s.Init(time.Now(), driver.Grant{TTL: ttl, Sent: time.Now(), Token: 1, LastToken: 1}, compat.Class{TTL: ttl}, limits, nil)
		s.assign("first", 0)
		s.asks(0)
		if pending := s.transfers(false); pending != (<-chan struct{})(s.asks(driver.MaxTokens)) {
			t.Error("Transfer does not say that the answer is pending")
		}
	})
}
