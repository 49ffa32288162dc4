package distlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// minHoldLeft is how much of its MinHold is left to s, in whole milliseconds; 0
// if nothing is. It goes by the monotonic clock alone, which never runs ahead: a
// key that is kept too long costs a run, one that is kept too short runs twice.
func (s *Lease) minHoldLeft() time.Duration {
	if s == nil || s.minHold == 0 || s.undone.Load() {
		return 0
	}
	s.hold.mu.Lock()
	began := s.hold.began
	s.hold.mu.Unlock()
	return keepFor(began, s.minHold)
}

// keepFor is what is left now of d from began on, in whole milliseconds, rounded
// up: a store would take less than one for none.
func keepFor(began time.Time, d time.Duration) time.Duration {
	left := min(d-time.Since(began), d)
	if left <= 0 {
		return 0
	}
	return (left + time.Millisecond - 1).Truncate(time.Millisecond)
}

// dismiss makes one attempt to give the key of s back, or to keep it in the store
// for what is left of its MinHold. If there is no answer it goes on in the
// background. A lease that was lost has no key to keep, unless it was lost
// because the Locker is closed.
func (l *Locker) dismiss(ctx context.Context, s *Lease, lost error) error {
	left := s.minHoldLeft()
	g := s.hold.current()
	if left == 0 || lost != nil && !errors.Is(lost, ErrClosed) {
		err := l.sendRelease(ctx, g)
		if err != nil && !errors.Is(err, ErrLost) {
			l.settle(g)
		}
		return err
	}
	if answer := s.hold.asking(); answer != nil {
		<-answer // it extends the lease
	}
	late := l.watchdog.renewing(s.hold)
	own, end := l.outlive(ctx, g)
	defer end()
	err := l.sendKeep(own, g, left)
	switch {
	case err == nil && late:
		// That renewal may come to the store after this and cut the time short,
		// so it is said again when it is back, or has run over its time.
		l.settleKept(s, time.Now(), min(left, g.TTL/3+settleInterval))
	case err == nil:
		l.releaseAfter(left, g)
	case !errors.Is(err, ErrLost):
		s.hold.mu.Lock()
		sent := s.hold.sent
		s.hold.mu.Unlock()
		l.settleKept(s, sent, settleInterval)
	}
	return err
}

// renewing reports whether a renewal of h is under way. Of a hold that is not
// watched any more none will begin.
func (w *watchdog) renewing(h *hold) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return h.watch.waiting
}

// dismissBg makes one attempt in the background to do the same for a holder who
// does not.
func (l *Locker) dismissBg(h *hold) error {
	h.mu.Lock()
	s := h.holder
	h.mu.Unlock()
	left := s.minHoldLeft()
	if left == 0 {
		return l.sendReleaseBg(h.current())
	}
	ctx, cancel := context.WithTimeout(l.bg, min(releaseTimeout, h.grant.TTL))
	defer cancel()
	return l.sendKeep(ctx, h.current(), left)
}

// sendKeep has the key end by itself when the time left is over, so that a crash
// from now on changes nothing. The error wraps ErrLost if the store says that it
// is not the owner's.
func (l *Locker) sendKeep(ctx context.Context, g Grant, left time.Duration) error {
	g.TTL = left
	var r RenewResult
	if results := l.backend.Renew(ctx, []Grant{g}); len(results) == 1 {
		r = results[0]
	}
	switch r.Status {
	case Renewed:
		return nil
	case Lost:
		return errTaken
	default:
		return unavailable(r.Err)
	}
}

// settleKept goes on in the background until the store has answered for how long
// it keeps the key of s, or until a lease that began at sent has run out. It
// begins after the pause. Close ends it.
func (l *Locker) settleKept(s *Lease, sent time.Time, pause time.Duration) {
	h := s.hold
	h.mu.Lock()
	began := h.began
	h.mu.Unlock()
	l.life.cleanup(func() {
		for l.sleep(l.life.ctx, pause) {
			pause = settleInterval + rand.N(settleInterval)
			left := keepFor(began, s.minHold)
			if left == 0 || time.Since(sent) >= h.grant.TTL {
				l.releaseAfter(left, h.current())
				return
			}
			ctx, cancel := context.WithTimeout(l.life.ctx, min(releaseTimeout, h.grant.TTL))
			err := l.sendKeep(ctx, h.current(), left)
			cancel()
			switch {
			case err == nil:
				l.releaseAfter(left, h.current())
				return
			case errors.Is(err, ErrLost):
				return
			}
		}
	})
}

// releaseAfter releases a key that was kept when the time left is over, for
// stores in which nothing ends by itself. Until then it costs a timer, for which
// Close does not wait: the key is left to its end.
func (l *Locker) releaseAfter(left time.Duration, g Grant) {
	ctx, cancel := context.WithTimeout(l.life.ctx, left)
	context.AfterFunc(ctx, func() {
		defer cancel()
		if !l.life.enter() {
			return // the Locker was closed, and the timer stopped with it
		}
		defer l.life.exit(nil)
		l.settle(g)
	})
}
