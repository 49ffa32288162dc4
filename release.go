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

// release gives s back to the store and opens the gate.
func (l *Locker) release(ctx context.Context, s *Lease) error {
	defer l.life.exit()
	defer l.gate.pass(s.Key())

	// Unwatch first: a renewal that overtakes the release would keep the key.
	l.watchdog.remove(s.hold)
	lost := s.over()
	_ = s.hold.end(errReleased) // over in either case
	s.cancel(errReleased)

	claim := s.hold.grant
	err := l.sendRelease(context.WithoutCancel(ctx), claim)
	switch {
	case err == nil:
	case errors.Is(err, ErrLost):
		if lost == nil {
			s.lost(errTaken)
			lost = errTaken
		}
		err = nil
	default:
		l.settle(claim)
		err = unavailable(err)
	}
	err = s.fail("release", join(lost, err))
	if h := l.cfg.Hooks.Released; h != nil {
		h(ctx, ReleasedInfo{Name: s.name, Key: s.Key(), Token: s.token, Held: time.Since(s.since), Err: err})
	}
	return err
}

func (l *Locker) sendRelease(ctx context.Context, g Grant) error {
	ctx, cancel := context.WithTimeout(ctx, min(releaseTimeout, g.TTL))
	defer cancel()
	return l.backend.Release(ctx, g)
}

// settle makes sure in the background that nothing of the claim is left in the
// store: neither a key whose release got no answer, or that was got although
// nobody heard of it, nor a place in line. It goes on until that is certain, or
// until the lease has run out in any case.
func (l *Locker) settle(claim Grant) {
	l.life.also()
	go func() {
		defer l.life.exit()
		b := NewBackoff(settleInterval, 0)
		for start := time.Now(); time.Since(start) < claim.TTL; {
			err := l.sendRelease(l.bg, claim)
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
	}()
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
			_ = l.sendRelease(l.bg, h.grant) // nobody is left to be told
			<-slots
		})
	}
	releases.Wait()
}
