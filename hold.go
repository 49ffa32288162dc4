package distlock

import (
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/text"
)

// errReleased is why a lease is over that its holder gave back.
var errReleased = fmt.Errorf("%w: it was released", ErrLost)

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
	grant  driver.Grant
	class  compat.Class
	bounds bounds
	span   time.Duration // how long to believe in it after sending: the lease less the margin
	watch  watch         // the watchdog's

	mu      sync.Mutex
	sent    time.Time     // when the last request that extended it was sent
	trouble *trouble      // the last renewal since, if it failed
	over    error         // wraps ErrLost; nil while it goes on
	began   time.Time     // when the present holder's time began
	maxHold time.Duration // of the present holder; 0: no limit
	limited bool          // the last holder had a limit, even if there is no holder now
	holder  *Lease        // who has it; nil on the way from hand to hand, and of readers who ride
	riders  map[*Lease]struct{}
	coming  int  // readers on their way to ride on it
	handed  bool // it was handed over before
	block   block
	next    *block        // got ahead of time, to follow block
	asked   chan struct{} // closed when it is known whether there is a next; nil: nobody asked

	underWay int  // requests in progress that extend it
	stray    bool // a request was abandoned without an answer: it may still reach the store
}

// block is what may be handed out before the store is asked again.
type block struct {
	token, last uint64 // the next token and the last one; 0: there are none
	changes     int    // hand-overs so far
}

// trouble is a renewal that failed.
type trouble struct {
	at  time.Time // when the failure was known
	why string    // on one line
}

func newHold(g driver.Grant, c compat.Class, b bounds) *hold {
	h := &hold{
		grant: g, class: c, bounds: b, span: believed(g.TTL),
		sent: g.Sent, block: block{token: g.Token, last: g.LastToken},
	}
	if c.Shares() {
		h.coming = 1
	}
	return h
}

// occupy makes the hold that of s from now on, for at most maxHold, counted from
// began; of readers that ride it is one more's. It returns false if the hold is
// over, which a new one never is. It also reports whether the end has moved, because
// s or the holder before has a maxHold.
func (h *hold) occupy(s *Lease, now, began time.Time, maxHold time.Duration) (ok, moved bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		return false, false
	}
	s.hold, s.token, s.since, s.handed = h, h.block.token, now, h.handed
	s.held.Store(true)
	if h.block.token != 0 {
		h.block.token++
	}
	if h.class.Shares() {
		h.ride(s)
	} else {
		moved = h.limited || maxHold > 0
		h.began, h.maxHold, h.limited, h.holder = began, maxHold, maxHold > 0, s
	}
	return true, moved
}

// Class returns what the next holder must have in common with the one before.
func (h *hold) Class() compat.Class { return h.class }

// Transfer ends the present holder's time but not the hold, so that the next may
// occupy it. It returns false, and changes nothing, if the hold must go back to
// the store instead: because it is over or soon will be, because its tokens are
// spent, or because other processes had to wait long enough. A fixed lease is
// never handed over: the next would get less than a full one.
//
// If the answer depends on what the store was asked, a channel comes with it that
// is closed when that is known.
func (h *hold) Transfer(now time.Time) (bool, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.fit(now) {
		return false, nil
	}
	if h.spent() {
		if h.next == nil {
			return false, h.asked
		}
		h.block, h.next, h.asked = *h.next, nil, nil
	}
	h.block.changes++
	h.handed, h.maxHold, h.holder = true, 0, nil
	return true, nil
}

// fit reports whether the hold may have another holder, if that one is given a
// token: it is not over, has room for a while, and other processes did not have to
// wait for long. The caller has the mutex.
func (h *hold) fit(now time.Time) bool {
	return h.over == nil && h.left(now) > 0 && !h.class.Fixed && elapsed(h.sent, now) <= h.span/2 &&
		elapsed(h.grant.Sent, now) < h.bounds.time
}

// spent reports whether the present block is. The caller has the mutex.
func (h *hold) spent() bool {
	return h.block.changes >= h.bounds.count || h.grant.Token != 0 && h.block.token+uint64(h.coming) > h.block.last
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
	var err error
	switch {
	case h.maxHold > 0 && elapsed(h.began, now) >= h.maxHold:
		err = fmt.Errorf("%w: held for MaxHold, %v", ErrLost, h.maxHold)
	case h.trouble != nil: // text only, because the cause of a loss must not make the loss match other errors
		err = fmt.Errorf("%w: the lease of %v ran out; the last renewal failed %v ago: %s",
			ErrLost, h.grant.TTL, text.Duration(now.Sub(h.trouble.at)), h.trouble.why)
	default:
		err = fmt.Errorf("%w: the lease of %v ran out", ErrLost, h.grant.TTL)
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
	return end, !h.class.Fixed
}

// sends notes that a request which extends the hold is about to be sent.
func (h *hold) sends() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.underWay++
}

// heard notes that such a request is back, with an answer or without.
func (h *hold) heard(answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.underWay--
	h.stray = h.stray || !answered
}

// late reports whether a request that extends the hold may still reach the store. It
// does not count requests for which sends was not called yet.
func (h *hold) late() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.underWay > 0 || h.stray
}

// extend records a renewal that was sent then and confirmed.
func (h *hold) extend(sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if sent.After(h.sent) {
		h.sent, h.trouble = sent, nil
	}
}

// notRenewed records that a renewal failed, in case the hold is lost because of it.
func (h *hold) notRenewed(sent time.Time, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if sent.Before(h.sent) {
		return // a later renewal succeeded
	}
	h.trouble = &trouble{time.Now(), "no answer"}
	if why != nil {
		h.trouble.why = text.OneLine(why)
	}
}

// tellNotRenewed calls the hooks of the holders for a renewal that failed.
func (h *hold) tellNotRenewed(why error) {
	h.mu.Lock()
	holders, left := h.holders(), h.left(time.Now())
	h.mu.Unlock()
	if left <= 0 {
		return // lost, which has its own hook
	}
	for _, s := range holders {
		s.renewalFailed(why, left)
	}
}

// holders returns the leases that have the hold. The caller holds the mutex.
func (h *hold) holders() []*Lease {
	if h.over != nil {
		return nil
	}
	var all []*Lease
	if h.holder != nil {
		all = append(all, h.holder)
	}
	for s := range h.riders {
		all = append(all, s)
	}
	return all
}

// current is the grant with the last token that was minted for it.
func (h *hold) current() driver.Grant {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.grant
	g.LastToken = h.block.last
	if h.next != nil {
		g.LastToken = h.next.last
	}
	return g
}

// lose ends the hold against its owner's will, unless it is over already, and
// returns why it is over.
func (h *hold) lose(err error) error {
	holder, riders, over := h.end(err)
	if holder != nil {
		holder.lost(over)
	}
	for _, s := range riders {
		s.lost(over)
	}
	return over
}

// end marks the hold as over because of err, unless it is over already. It
// returns who is to be told, if that is new, and why it is over.
func (h *hold) end(err error) (holder *Lease, riders []*Lease, over error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		return nil, nil, h.over
	}
	h.over = err
	for s := range h.riders {
		riders = append(riders, s)
	}
	return h.holder, riders, err
}
