// Package leasestate is the state of a lease in this process: until when it may be relied
// on, which holders have it, and whether it is over. One lease may serve several holders,
// one after the other or, as readers, together. The package does no I/O.
package leasestate

import (
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/text"
)

// ErrReleased is why a lease is over that its last holder gave back.
var ErrReleased = fmt.Errorf("%w: it was released", driver.ErrLost)

// ErrHandedOff is why a lease is over that may go on in another process.
var ErrHandedOff = fmt.Errorf("%w: it was handed off", driver.ErrLost)

var errBound = errors.New("a transaction is guarded with the lease")

// State is the state of one lease, for holders of type H; the zero H stands for none.
// Once over it stays over. [State.Init] must be called first. After that, a State is safe
// for concurrent use.
type State[H comparable] struct {
	Supply

	grant   driver.Grant
	class   compat.Class
	maxTime time.Duration // see Limits
	since   time.Duration // the age at which this process got the lease
	safeTTL time.Duration
	lost    func(H, error) (tell func())

	enough time.Duration // what must be left of the lease for a next holder

	sent       time.Time   // when the last request that extended the lease was sent
	due        time.Time   // when the next renewal should be sent; zero: one was
	renewalErr *renewalErr // the last renewal since then, if it failed
	over       error       // wraps ErrLost; nil while the lease goes on

	began   time.Time     // when the present holder's time began
	maxHold time.Duration // of the present holder; 0: no limit
	holder  H             // none if the lease is shared, or being handed over

	sharers   map[H]struct{} // the holders of a shared lease
	attaching int            // holders on their way to share the lease
	attached  int            // holders that have come to share it

	handedOver bool // to a holder that did not ask the store
	limited    bool // the last holder had a limit, even if there is no holder now
	bound      bool // see Bind
}

// renewalErr is a renewal that failed.
type renewalErr struct {
	at  time.Time // when the failure was known
	why string    // on one line
}

// Assignment is what a holder gets with a lease.
type Assignment struct {
	Token      uint64
	Since      time.Time
	HandedOver bool // by another holder in this process
}

// Init makes s the state of a new lease, which this process gets now and which no holder
// has yet. When the lease is lost, lost is called once for each holder, before Leave of
// that holder can return, and must not use the state. What it returns is called afterwards.
func (s *State[H]) Init(now time.Time, g driver.Grant, c compat.Class, l Limits, lost func(h H, err error) (tell func())) {
	s.grant, s.class, s.maxTime, s.safeTTL, s.lost = g, c, l.MaxTime, clock.SafeTTL(g.TTL), lost
	s.since = s.age(now)
	s.sent, s.enough = Start(g), s.safeTTL/2
	if !g.Until.IsZero() {
		s.enough = g.Until.Sub(g.Sent) / 2
	}
	s.init(g, s.since, l.Extend)
	if c.Shares() {
		s.attaching = 1
	}
}

// Start returns the time from which a lease counts: when the request was sent, or so early
// that the lease ends at [driver.Grant].Until.
func Start(g driver.Grant) time.Time {
	if g.Until.IsZero() {
		return g.Sent
	}
	return g.Until.Add(-clock.SafeTTL(g.TTL))
}

// FirstTTL returns how long the lease lasts, from Sent on, before it is renewed for the first
// time.
func (s *State[H]) FirstTTL() time.Duration {
	if s.grant.Until.IsZero() {
		return s.grant.TTL
	}
	return s.grant.Until.Sub(s.grant.Sent)
}

// Class returns the class of the acquisition that the lease was made for.
func (s *State[H]) Class() compat.Class { return s.class }

// Key returns the key of the lease.
func (s *State[H]) Key() string { return s.grant.Key }

// TTL returns the TTL of the grant.
func (s *State[H]) TTL() time.Duration { return s.grant.TTL }

// Grant returns the grant as the store gave it.
func (s *State[H]) Grant() driver.Grant { return s.grant }

// LastGrant returns the grant with the last token that the store issued for it, and the
// time at which the last confirmed request for it was sent.
func (s *State[H]) LastGrant() driver.Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.grant
	g.Sent, g.LastToken = s.sent, s.issued
	return g
}

// Assign makes h the holder, or one more holder if the lease is shared, and fills in a.
// MaxHold counts from began; 0 means no limit. Assign returns false, and changes nothing,
// if the lease is over, which a new one never is. moved reports that the end of the lease
// has changed, because h or the holder before has a maxHold.
func (s *State[H]) Assign(h H, a *Assignment, now, began time.Time, maxHold time.Duration) (ok, moved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return false, false
	}
	*a = Assignment{Token: s.tokens.take(), Since: now, HandedOver: s.handedOver}
	if s.class.Shares() {
		s.attaching--
		if s.sharers == nil {
			s.sharers = make(map[H]struct{})
		}
		s.sharers[h] = struct{}{}
		return true, false
	}
	moved = s.limited || maxHold > 0
	s.began, s.maxHold, s.limited, s.holder = began, maxHold, maxHold > 0, h
	return true, moved
}

// Transfer ends the present holder's time but not the lease, so that it can be assigned to
// the next holder, a caller with the given ticket. It returns false, and changes nothing, if
// the lease must go back to the store instead: because it is over or soon will be, because
// its tokens are spent, or because other processes have waited for longer than the caller.
// newest is the last ticket so far.
//
// If the answer depends on a request to the store for more tokens, Transfer returns a
// channel that is closed when the answer is known. After any Transfer that returned true or
// a channel, the caller must call RequestExtend.
func (s *State[H]) Transfer(now time.Time, ticket, newest uint64) (ok bool, pending <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.transferable(now, ticket) {
		return false, nil
	}
	s.refill(s.attaching, now, newest)
	if s.tokens.spent(s.attaching) {
		return false, s.answer
	}
	var none H
	s.handedOver, s.maxHold, s.holder = true, 0, none
	return true, nil
}

// Binder is the key by which the context of a lease has the method [State.Bind] of its state.
type Binder struct{}

// Bind keeps the lease from another holder in this process: from now on Transfer returns
// false. A transaction that depends on the lease may be open, which only the store knows.
func (s *State[H]) Bind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound = true
}

// Attach lets one more reader share the lease, without a round trip to the store. It
// returns false, and changes nothing, if Transfer would, or if so many have come to share it
// that writers in other processes may have waited for long. After Attach the caller must call
// Assign or Leave.
func (s *State[H]) Attach(now time.Time, ticket uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.transferable(now, ticket) || s.tokens.spent(s.attaching) || s.attached >= maxSharers {
		return false
	}
	s.handedOver = true
	s.attached++
	s.attaching++
	return true
}

// Leave ends h's part in the lease; the zero H stands for a holder that was to get it, or has
// attached, and to which it was not assigned. It returns why the lease is over, if it is, and
// whether h was the last holder: then the lease is over in any case, and the caller gives it
// back.
func (s *State[H]) Leave(h H) (last bool, over error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, shares := s.sharers[h]; shares {
		delete(s.sharers, h)
	} else if s.class.Shares() {
		s.attaching--
	}
	over = s.over
	last = s.attaching == 0 && len(s.sharers) == 0
	if last && over == nil {
		s.over = ErrReleased
	}
	return last, over
}

// transferable reports whether the lease may have another holder, if there is a token for
// it: it is not over, goes on for a while, and other processes have not waited for longer.
// The caller has the mutex.
func (s *State[H]) transferable(now time.Time, ticket uint64) bool {
	return s.over == nil && !s.bound && ticket <= s.last && s.left(now) > 0 && s.safeTTL-clock.Elapsed(s.sent, now) >= s.enough &&
		s.age(now)-s.since < s.maxTime
}

// age returns the age of the lease: the time since the request that was granted was sent.
func (s *State[H]) age(now time.Time) time.Duration { return clock.Elapsed(s.grant.Sent, now) }

// left returns how much longer the lease may be relied on, if it is not over. The caller
// has the mutex.
func (s *State[H]) left(now time.Time) time.Duration {
	left := s.safeTTL - clock.Elapsed(s.sent, now)
	if s.maxHold > 0 {
		left = min(left, s.maxHold-clock.Elapsed(s.began, now))
	}
	return left
}

// Check returns why the lease is over, or nil. It looks at the clock: the answer is right
// even if no timer has ended the lease yet.
func (s *State[H]) Check(now time.Time) error {
	s.mu.Lock()
	over, left := s.over, s.left(now)
	s.mu.Unlock()
	if over == nil && left <= 0 {
		over = s.Expire(now)
	}
	return over
}

// Expire ends the lease because its time has run out, and returns why it is over.
func (s *State[H]) Expire(now time.Time) error {
	s.mu.Lock()
	lasts := s.grant.TTL
	if s.sent.Equal(Start(s.grant)) { // not renewed yet
		lasts = s.FirstTTL()
	}
	why := fmt.Sprintf("the lease of %v ran out", lasts.Round(time.Millisecond))
	late := clock.Elapsed(s.sent, now) - s.safeTTL
	if late > unnoticed {
		why += fmt.Sprintf(" %v ago, while this process was stopped or its clock was set", text.Duration(late))
	}
	switch {
	case s.maxHold > 0 && clock.Elapsed(s.began, now) >= s.maxHold:
		why = fmt.Sprintf("held for MaxHold, %v", s.maxHold)
	case s.renewalErr != nil: // text only, because the cause of a loss must not make the loss match other errors
		why += fmt.Sprintf("; the last renewal failed %v ago: %s", text.Duration(now.Sub(s.renewalErr.at)), s.renewalErr.why)
	case late <= unnoticed && !s.due.IsZero():
		why += fmt.Sprintf("; a renewal was due %v before, but this process did not run", text.Duration(clock.Elapsed(s.due, now)))
	}
	s.mu.Unlock()
	return s.Lose(fmt.Errorf("%w: %s", driver.ErrLost, why))
}

// unnoticed is how long the end of a lease may stay without notice in a process that runs.
const unnoticed = time.Second

// Lose ends the lease against the will of its holders, and tells them, unless it is over
// already. It returns why the lease is over.
func (s *State[H]) Lose(err error) error {
	s.mu.Lock()
	if s.over != nil {
		defer s.mu.Unlock()
		return s.over
	}
	var tell []func()
	for _, h := range s.holders() {
		tell = append(tell, s.lost(h, err))
	}
	s.over = err
	s.mu.Unlock()
	for _, f := range tell {
		f()
	}
	return err
}

// HandOff ends the lease for this process, unless it is over or bound, and returns what is
// left of the holder's MaxHold; 0 means no limit.
func (s *State[H]) HandOff(now time.Time) (left time.Duration, err error) {
	if err := s.Check(now); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over != nil:
		return 0, s.over
	case s.bound:
		return 0, errBound
	case s.maxHold > 0:
		left = s.maxHold - clock.Elapsed(s.began, now)
	}
	s.over = ErrHandedOff
	return left, nil
}

// Until returns the time from which the lease may not be relied on, and whether a renewal
// would put it off.
func (s *State[H]) Until() (end time.Time, renewable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end = s.sent.Add(s.safeTTL)
	if s.maxHold > 0 {
		if limit := s.began.Add(s.maxHold); !end.Before(limit) {
			return limit, false
		}
	}
	return end, true
}

// Holders returns the holders, and how much longer the lease may be relied on. If the
// lease is over or its time has run out, it returns none.
func (s *State[H]) Holders(now time.Time) ([]H, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.left(now)
	if s.over != nil || left <= 0 {
		return nil, 0
	}
	return s.holders(), left
}

// holders returns the holders. The caller has the mutex.
func (s *State[H]) holders() []H {
	var none H
	var all []H
	if s.holder != none {
		all = append(all, s.holder)
	}
	for h := range s.sharers {
		all = append(all, h)
	}
	return all
}

// Holder returns the holder of a lease that is not shared, also after its end, and when
// its time began.
func (s *State[H]) Holder() (h H, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holder, s.began
}

// Extend records that a request which extends the lease was sent then, and was confirmed.
func (s *State[H]) Extend(sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sent.After(s.sent) {
		s.sent, s.renewalErr, s.enough = sent, nil, s.safeTTL/2
	}
}

// Due records when the next renewal should be sent; the zero Time says that one was.
func (s *State[H]) Due(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = at
}

// NotRenewed records that a renewal which was sent then failed, in case the lease is lost
// because of it. A nil error means that there was no answer.
func (s *State[H]) NotRenewed(sent time.Time, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sent.Before(s.sent) {
		return // a later renewal succeeded
	}
	s.renewalErr = &renewalErr{time.Now(), text.OneLine(why)}
}
