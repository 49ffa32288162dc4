package distlock

import (
	"fmt"
	"sync"
	"time"
)

// errReleased is why a lease is over that its holder gave back.
var errReleased = fmt.Errorf("%w: it was released", ErrLost)

// terms are what two acquisitions of a key must have in common for one to take
// over the other's hold.
type terms struct {
	ttl   time.Duration
	fixed bool // not renewed by the watchdog
}

// bounds say how long a hold may be handed from one holder in this process to
// the next before other processes get their turn.
type bounds struct {
	count int
	time  time.Duration
}

// hold is a grant that this process believes in: until when, and whether it is
// over. Once over, always over. It outlives the lease that it was got for if it
// is handed over.
type hold struct {
	grant  Grant
	terms  terms
	bounds bounds
	span   time.Duration // how long to believe in it after sending: the lease less the margin
	watch  watch         // the watchdog's

	mu      sync.Mutex
	sent    time.Time     // when the last request that extended it was sent
	over    error         // wraps ErrLost; nil while it goes on
	began   time.Time     // when the present holder's time began
	maxHold time.Duration // of the present holder; 0: no limit
	holder  *Lease        // who has it; nil on the way from hand to hand
	tokens  uint64        // the next to hand out
	changes int           // hand-overs so far
}

func newHold(g Grant, t terms, b bounds) *hold {
	return &hold{
		grant: g, terms: t, bounds: b, span: believed(g.TTL),
		sent: g.Sent, tokens: g.Token,
	}
}

// occupy makes the hold that of s, for at most maxHold, counted from began. It
// returns false if the hold is over, which a new one never is.
func (h *hold) occupy(s *Lease, began time.Time, maxHold time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		return false
	}
	s.hold, s.token, s.since, s.handed = h, h.tokens, time.Now(), h.changes > 0
	if h.tokens != 0 {
		h.tokens++
	}
	h.began, h.maxHold, h.holder = began, maxHold, s
	return true
}

// vacate ends the present holder's time but not the hold, so that the next may
// occupy it. It returns false, and changes nothing, if the hold must go back to
// the store instead: because it is over or soon will be, because its tokens are
// spent, or because other processes had to wait long enough. A fixed lease is
// never handed over: the next would get less than a full one.
func (h *hold) vacate() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	switch {
	case h.over != nil, h.left(now) <= 0, h.terms.fixed, elapsed(h.sent, now) > h.span/2:
		return false
	case h.grant.Token != 0 && h.tokens > h.grant.LastToken:
		return false
	case h.changes >= h.bounds.count, elapsed(h.grant.Sent, now) >= h.bounds.time:
		return false
	}
	h.changes++
	h.maxHold, h.holder = 0, nil
	return true
}

// left is how much longer the hold may be believed in, if it is not over. The
// caller has the mutex.
func (h *hold) left(now time.Time) time.Duration {
	left := h.span - elapsed(h.sent, now)
	if h.maxHold > 0 {
		left = min(left, h.maxHold-elapsed(h.began, now))
	}
	return left
}

// check returns why the hold is over, or nil. It notices expiry by itself:
// whoever asks before the watchdog has woken gets the right answer.
func (h *hold) check(now time.Time) error {
	h.mu.Lock()
	over, left := h.over, h.left(now)
	h.mu.Unlock()
	if over == nil && left <= 0 {
		over = h.expire(now)
	}
	return over
}

// expire ends the hold because its time has run out and returns why it is over.
func (h *hold) expire(now time.Time) error {
	h.mu.Lock()
	err := fmt.Errorf("%w: the lease of %v ran out", ErrLost, h.grant.TTL)
	if h.maxHold > 0 && elapsed(h.began, now) >= h.maxHold {
		err = fmt.Errorf("%w: held for MaxHold, %v", ErrLost, h.maxHold)
	}
	h.mu.Unlock()
	return h.lose(err)
}

// until is the moment from which the hold is not believed in, and whether a
// renewal would put it off.
func (h *hold) until() (end time.Time, renewable bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	end = h.sent.Add(h.span)
	if h.maxHold > 0 {
		if limit := h.began.Add(h.maxHold); !end.Before(limit) {
			return limit, false
		}
	}
	return end, !h.terms.fixed
}

// extend records a renewal that was sent then and confirmed.
func (h *hold) extend(sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if sent.After(h.sent) {
		h.sent = sent
	}
}

// lose ends the hold against its owner's will, unless it is over already, and
// returns why it is over.
func (h *hold) lose(err error) error {
	holder, over := h.end(err)
	if holder != nil {
		holder.lost(over)
	}
	return over
}

// end marks the hold as over because of err, unless it is over already. It
// returns who is to be told, if that is new, and why it is over.
func (h *hold) end(err error) (tell *Lease, over error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		return nil, h.over
	}
	h.over = err
	return h.holder, err
}
