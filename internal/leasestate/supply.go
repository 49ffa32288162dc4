package leasestate

import (
	"math"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
)

// Supply is what the store allows for hand-overs of a lease in this process: tokens, and which
// callers may still be served although others wait in the store. It is a part of a State, and
// safe for concurrent use.
type Supply struct {
	mu      sync.Mutex // of the State
	granted time.Time  // when the request for the lease was sent
	asks    bool       // the store can be asked for more

	tokens    tokenRange
	ahead     tokenRange    // received ahead of time, to follow tokens
	issued    uint64        // the last token that the store issued
	last      uint64        // the last ticket of a next holder: see OthersWait
	answer    chan struct{} // closed when the store has answered; nil: it need not be asked
	asked     uint64        // the last ticket when answer was made
	askAt     time.Duration // the age of the lease after which the store is asked again
	requested bool          // RequestExtend has returned answer
}

// init makes s the supply of a new lease, which this process got at that age.
func (s *Supply) init(g driver.Grant, since time.Duration, asks bool) {
	s.granted, s.asks, s.tokens, s.issued = g.Sent, asks, newRange(g), g.LastToken
	s.last, s.askAt = math.MaxUint64, since
	if !asks {
		s.askAt += changeTime
	}
}

// refill begins with the tokens that were received ahead of time, if the others are spent, and
// notes whether the store should be asked. newest is the last ticket so far.
func (s *Supply) refill(reserved int, now time.Time, newest uint64) {
	more := s.ahead.left() > 0
	if s.tokens.spent(reserved) && more {
		s.tokens, s.ahead, more = s.ahead, tokenRange{}, false
	}
	few := s.tokens.token >= s.tokens.low && !more && s.tokens.token != 0
	switch {
	case !few && clock.Elapsed(s.granted, now) <= s.askAt:
	case s.answer != nil || s.last != math.MaxUint64:
	case s.asks:
		s.answer, s.asked = make(chan struct{}), newest
	default: // others may wait
		s.last = newest
	}
}

// OthersWait says that owners in other processes wait for the key, and have done so since
// newest was the last ticket in this process: callers that came later get no hand-over.
func (s *Supply) OthersWait(newest uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = min(s.last, newest)
}

// RequestExtend returns a channel if the caller must ask the store whether others wait, and
// for how many tokens. The caller closes it when it has called Extended or NotExtended.
// RequestExtend returns nil if the store was asked already, or need not be asked.
func (s *Supply) RequestExtend() (answered chan struct{}, tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requested || s.answer == nil {
		return nil, 0
	}
	s.requested, tokens = true, 1
	if s.ahead.left() == 0 {
		tokens = driver.MaxTokens
	}
	return s.answer, tokens
}

// ExtendRequested returns the channel of RequestExtend, or nil if the store need not be
// asked.
func (s *Supply) ExtendRequested() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer
}

// Extended records an answer of the store that came now: nobody waits, and g has more tokens,
// which are used if none are left by then. The store is asked again after four times the time
// that it took.
func (s *Supply) Extended(g driver.Grant, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.requested, s.issued = nil, false, g.LastToken
	s.askAt = clock.Elapsed(s.granted, now) + 4*clock.Elapsed(g.Sent, now)
	if s.ahead.left() == 0 {
		s.ahead = newRange(g)
	}
}

// NotExtended records that others wait in the store, or that it did not answer: they may have
// waited since it was asked.
func (s *Supply) NotExtended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = min(s.last, s.asked)
}
