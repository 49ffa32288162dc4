package distlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/backoff"
	"github.com/distlock-go/distlock/internal/compat"
)

// releaseTimeout bounds one attempt to give a key back, which may get a quarter
// less. The caller waits for the first, so it is short; a lease that is shorter
// still is not worth waiting for beyond its end.
const releaseTimeout = 2 * time.Second

// cleanupTimeout is how long Close waits for clean-up in the background when no lease
// is held any more. A store that works needs no longer; in a store that does not work,
// leases expire by themselves.
const cleanupTimeout = releaseTimeout / 4

// settleInterval is the base of the pause between attempts to give up a claim.
const settleInterval = 100 * time.Millisecond

// release ends s: it hands the hold over to the next in this process, leaves it to
// the readers who ride on it too, or gives it back to the store and opens the gate.
func (l *Locker) release(ctx context.Context, s *Lease) error {
	defer l.life.exit(s)
	now := time.Now()
	lost := s.overAt(now)
	s.ended.Store(true)
	s.cancel(errReleased)

	var err error
	switch {
	case s.hold.class.Shares():
		lost, err = l.alight(ctx, s, lost)
	case s.minHoldLeft() > 0 || !l.handOver(s.Key(), s.hold, now):
		lost, err = l.giveBack(ctx, s, lost)
	}
	return s.fail("release", join(lost, err))
}

func (s *Lease) tellReleased(err error) {
	if h := s.locker.cfg.Hooks.Released; h != nil {
		h(&s.ctx, ReleasedInfo{
			LockInfo: s.info(), Token: s.token, Held: time.Since(s.since), Reentrant: s.again != nil, Err: err,
		})
	}
}

// alight ends the ride of s. The last gives the hold back.
func (l *Locker) alight(ctx context.Context, s *Lease, lost error) (_, err error) {
	last, over := s.hold.alight(s)
	if last {
		return l.giveBack(ctx, s, lost)
	}
	l.queue.Exit(s.Key(), false)
	if lost == nil {
		lost = over // just now, and s was told
	}
	return lost, nil
}

// giveBack releases the hold of s in the store and opens the gate. It returns
// why the lease was lost, also if only the store knew, and what went wrong.
func (l *Locker) giveBack(ctx context.Context, s *Lease, lost error) (_, err error) {
	defer l.queue.Exit(s.Key(), false)

	// Unwatch first: a renewal that overtakes the release would keep the key.
	l.watchdog.remove(s.hold)
	if _, _, over := s.hold.end(errReleased); lost == nil && over != errReleased { //nolint:errorlint // that very value
		lost = over // just now, and s was told
	}

	switch err = l.dismiss(ctx, s, lost); {
	case err == nil:
		return lost, nil
	case !errors.Is(err, ErrLost):
		return lost, unavailable(err)
	case lost == nil:
		s.lost(errTaken)
		return errTaken, nil
	default:
		return lost, nil
	}
}

// passOn gets rid of a turn that came for the class c to somebody who had given up:
// the gate, and perhaps a hold with it.
func (l *Locker) passOn(key string, c compat.Class, h *hold) {
	if h != nil {
		if !c.Shares() && l.handOver(key, h, time.Now()) {
			return
		}
		l.decline(h)
	}
	l.queue.Exit(key, h == nil && c.Sharing.Mode == Shared)
}

// decline gives back a hold that came to somebody who does not occupy it, unless
// others ride on it.
func (l *Locker) decline(h *hold) {
	if h.class.Shares() {
		if last, _ := h.alight(nil); !last {
			return
		}
	}
	l.watchdog.remove(h)
	_, _, _ = h.end(errReleased) // nobody has it
	l.settle(h.current())
}

// sendRelease makes one attempt for a caller. It is sent even if ctx has ended:
// a request that was cancelled must not leave its lock behind.
func (l *Locker) sendRelease(ctx context.Context, g driver.Grant) error {
	own, end := l.outlive(ctx, g)
	defer end()
	return l.backend.Release(own, g)
}

// outlive returns a context for one attempt to give g back: with the values of
// ctx, and a time of its own.
func (l *Locker) outlive(ctx context.Context, g driver.Grant) (context.Context, context.CancelFunc) {
	if g.TTL < releaseTimeout {
		return context.WithTimeout(context.WithoutCancel(ctx), g.TTL)
	}
	return l.releases.Context(ctx), func() {}
}

// sendReleaseBg makes one attempt in the background.
func (l *Locker) sendReleaseBg(g driver.Grant) error {
	ctx, cancel := context.WithTimeout(l.bg, min(releaseTimeout, g.TTL))
	defer cancel()
	return l.backend.Release(ctx, g)
}

// settle makes sure in the background that nothing of the claim is left in the
// store: neither a key whose release got no answer, or that was got although
// nobody heard of it, nor a place in line. It goes on until that is certain, or
// until the lease has run out in any case. When the Locker is closed and no lease is
// held, it makes a last attempt at once.
func (l *Locker) settle(claim driver.Grant) {
	l.life.cleanup(func() {
		b := backoff.New(settleInterval, 0)
		last := false
		for start := time.Now(); time.Since(start) < claim.TTL; {
			err := l.sendReleaseBg(claim)
			if err == nil || errors.Is(err, ErrLost) || last {
				return
			}
			pause, _ := b.Wait()
			select {
			case <-time.After(pause):
			case <-l.life.idle:
				last = true
			case <-l.bg.Done():
				return
			}
		}
	})
}

// abandon releases what is still held when Close has waited long enough.
func (l *Locker) abandon() {
	var releases sync.WaitGroup
	slots := make(chan struct{}, 64)
	deadline := time.Now().Add(releaseTimeout)
	for _, h := range l.watchdog.holds() {
		if time.Now().After(deadline) {
			break // the store does not answer; the leases run out by themselves
		}
		l.watchdog.remove(h)
		slots <- struct{}{}
		releases.Go(func() {
			_ = l.dismissBg(h) // nobody is left to be told
			<-slots
		})
	}
	releases.Wait()
}
