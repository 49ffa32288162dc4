package distlock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// releaseTimeout bounds one attempt to give a key back. The caller waits for
// the first, so it is short; a lease that is shorter still is not worth waiting
// for beyond its end.
const releaseTimeout = 2 * time.Second

// settleInterval is the base of the pause between attempts to give up a claim.
const settleInterval = 100 * time.Millisecond

// release ends s: it hands the hold over to the next in this process, or gives
// it back to the store and opens the gate.
func (l *Locker) release(ctx context.Context, s *Lease) error {
	defer l.life.exit(s)
	lost := s.over()
	s.ended.Store(true)
	s.cancel(errReleased)

	var err error
	if !l.gate.handOver(s.Key(), s.hold) {
		lost, err = l.giveBack(ctx, s, lost)
	}
	err = s.fail("release", join(lost, err))
	if h := l.cfg.Hooks.Released; h != nil {
		h(ctx, ReleasedInfo{Name: s.name, Key: s.Key(), Token: s.token, Held: time.Since(s.since), Err: err})
	}
	return err
}

// giveBack releases the hold of s in the store and opens the gate. It returns
// why the lease was lost, also if only the store knew, and what went wrong.
func (l *Locker) giveBack(ctx context.Context, s *Lease, lost error) (_, err error) {
	defer l.gate.pass(s.Key())

	// Unwatch first: a renewal that overtakes the release would keep the key.
	l.watchdog.remove(s.hold)
	if _, over := s.hold.end(errReleased); lost == nil && over != errReleased { //nolint:errorlint // that very value
		lost = over // just now, and s was told
	}

	err = l.sendRelease(ctx, s.hold.grant)
	switch {
	case err == nil:
		return lost, nil
	case !errors.Is(err, ErrLost):
		l.settle(s.hold.grant)
		return lost, unavailable(err)
	case lost == nil:
		s.lost(errTaken)
		return errTaken, nil
	default:
		return lost, nil
	}
}

// passOn gets rid of a turn that came to somebody who had given up: the gate,
// and perhaps a hold with it.
func (l *Locker) passOn(key string, h *hold) {
	if h != nil && l.gate.handOver(key, h) {
		return
	}
	if h != nil {
		l.watchdog.remove(h)
		_, _ = h.end(errReleased) // nobody has it
		l.settle(h.grant)
	}
	l.gate.pass(key)
}

// sendRelease makes one attempt for a caller. It is sent even if ctx has ended:
// a request that was cancelled must not leave its lock behind.
func (l *Locker) sendRelease(ctx context.Context, g Grant) error {
	own := detach(ctx, min(releaseTimeout, g.TTL))
	defer own.end()
	return l.backend.Release(own, g)
}

// sendReleaseBg makes one attempt in the background.
func (l *Locker) sendReleaseBg(g Grant) error {
	ctx, cancel := context.WithTimeout(l.bg, min(releaseTimeout, g.TTL))
	defer cancel()
	return l.backend.Release(ctx, g)
}

// settle makes sure in the background that nothing of the claim is left in the
// store: neither a key whose release got no answer, or that was got although
// nobody heard of it, nor a place in line. It goes on until that is certain, or
// until the lease has run out in any case.
func (l *Locker) settle(claim Grant) {
	l.life.cleanup(func() {
		b := NewBackoff(settleInterval, 0)
		for start := time.Now(); time.Since(start) < claim.TTL; {
			err := l.sendReleaseBg(claim)
			if err == nil || errors.Is(err, ErrLost) {
				return
			}
			pause, _ := b.Wait()
			select {
			case <-time.After(pause):
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
			_ = l.sendReleaseBg(h.grant) // nobody is left to be told
			<-slots
		})
	}
	releases.Wait()
}
