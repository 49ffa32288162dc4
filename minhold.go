package distlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/driver"
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
	late := s.hold.late()
	own, end := l.outlive(ctx, g)
	defer end()
	err := l.sendKeep(own, g, left)
	switch {
	case err == nil && late:
		l.settleKept(s, true, min(left, renewalPause(g.TTL)))
	case err == nil:
		l.releaseAfter(left, g)
	case !errors.Is(err, ErrLost):
		l.settleKept(s, false, settleInterval)
	}
	return err
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
func (l *Locker) sendKeep(ctx context.Context, g driver.Grant, left time.Duration) error {
	g.TTL = left
	switch r := driver.RenewAll(ctx, l.backend, []driver.Grant{g})[0]; r.Status {
	case driver.Renewed:
		return nil
	case driver.Lost:
		return errTaken
	default:
		return unavailable(r.Err)
	}
}

// settleKept continues in the background, after the pause, until it is certain how long
// the store keeps the key of s. Close ends it.
//
// If the store has not answered, settleKept asks again until the lease has run out. If
// the store has answered and keeps the key, an earlier request may still reach it: a
// request that extends the lease and was in progress or abandoned without an answer. It
// is unknown how long a network delays such a request. When it arrives, the key expires
// one lease later, which may be too early. So the time is sent again as often as a lease
// is renewed. One case remains: if this process ends before, or cannot reach the store
// for the length of a lease after the request arrived, the key expires too early.
func (l *Locker) settleKept(s *Lease, kept bool, pause time.Duration) {
	h := s.hold
	h.mu.Lock()
	began, sent := h.began, h.sent
	h.mu.Unlock()
	l.life.cleanup(func() {
		for l.sleep(l.life.ctx, pause) {
			left := keepFor(began, s.minHold)
			if left == 0 || !kept && time.Since(sent) >= h.grant.TTL {
				l.releaseAfter(left, h.current())
				return
			}
			late := h.late()
			ctx, cancel := context.WithTimeout(l.life.ctx, min(releaseTimeout, h.grant.TTL))
			err := l.sendKeep(ctx, h.current(), left)
			cancel()
			switch {
			case err == nil && !late:
				l.releaseAfter(left, h.current())
				return
			case err == nil:
				kept, pause = true, min(left, renewalPause(h.grant.TTL))
			case errors.Is(err, ErrLost):
				return
			case kept:
				pause = min(left, retryPause(h.grant.TTL))
			default:
				pause = settleInterval + rand.N(settleInterval)
			}
		}
	})
}

// releaseAfter releases a key that was kept when the time left is over, for
// stores in which nothing ends by itself. Until then it costs a timer, for which
// Close does not wait: the key is left to its end.
func (l *Locker) releaseAfter(left time.Duration, g driver.Grant) {
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
