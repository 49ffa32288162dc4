package distlock

import (
	"fmt"
	"sync"
	"time"
)

// errReleased is why a lease is over that its holder gave back.
var errReleased = fmt.Errorf("%w: it was released", ErrLost)

// hold is a grant that this process believes in: until when, and whether it is
// over. Once over, always over.
type hold struct {
	grant   Grant
	span    time.Duration // how long to believe in it after sending: the lease less the margin
	maxHold time.Duration // 0: no limit
	fixed   bool          // not renewed by the watchdog
	began   time.Time     // when the request that got it was sent

	// onLost is called once, unless the hold ends first.
	onLost func(error)

	watch watch // the watchdog's

	mu   sync.Mutex
	sent time.Time // when the last request that extended it was sent
	over error     // wraps ErrLost; nil while it goes on
}

func newHold(g Grant, o *Opts) *hold {
	return &hold{
		grant:   g,
		span:    g.TTL - margin(g.TTL),
		maxHold: o.MaxHold,
		fixed:   o.NoWatchdog,
		began:   g.Sent,
		sent:    g.Sent,
	}
}

// left is how much longer the hold may be believed in, if it is not over.
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
		over = h.expired(now)
		h.lose(over)
	}
	return over
}

func (h *hold) expired(now time.Time) error {
	if h.maxHold > 0 && elapsed(h.began, now) >= h.maxHold {
		return fmt.Errorf("%w: held for MaxHold, %v", ErrLost, h.maxHold)
	}
	return fmt.Errorf("%w: the lease of %v ran out", ErrLost, h.grant.TTL)
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
	return end, true
}

// extend records a renewal that was sent then and confirmed.
func (h *hold) extend(sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over == nil && sent.After(h.sent) {
		h.sent = sent
	}
}

// lose ends the hold against its owner's will, unless it is over already.
func (h *hold) lose(err error) {
	if h.end(err) {
		h.onLost(err)
	}
}

// end marks the hold as over because of err. It returns false if it was so
// before.
func (h *hold) end(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		return false
	}
	h.over = err
	return true
}
