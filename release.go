package distlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/backoff"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/leasestate"
)

// releaseTimeout bounds one attempt to release a key, which may get a quarter less. The
// caller waits for the first attempt, so it is short; if the lease is shorter still, the
// attempt ends with the lease.
const releaseTimeout = 2 * time.Second

// cleanupTimeout is how long Close waits for clean-up in the background when no lease
// is held any more. A store that works needs no longer; in a store that does not work,
// leases expire by themselves.
const cleanupTimeout = releaseTimeout / 4

// releaseInterval is the base of the pause between attempts to release in the background.
const releaseInterval = 100 * time.Millisecond

// extendTimeout bounds the request whether a lease may be handed over further: the caller
// that gives out the last token waits for the answer.
const extendTimeout = 100 * time.Millisecond

// release ends s. It hands the lease over to the next caller in this process, leaves it to
// the readers that share it, or gives it back to the store.
func (l *Locker) release(ctx context.Context, s *Lease) error {
	defer l.life.done(s)
	now := time.Now()
	lost := s.overAt(now)
	s.ended.Store(true)
	s.cancel(leasestate.ErrReleased)

	var err error
	switch {
	case s.state.Class().Shares():
		lost, err = l.detach(ctx, s, lost)
	case s.minHoldLeft() > 0 || !l.handOver(s.Key(), s.state, now):
		lost, err = l.giveBack(ctx, s, lost)
	}
	return s.fail("release", join(lost, err))
}

// handOver passes the caller's admission and the lease on to the next waiter. It returns
// false if it cannot; then the caller still has both.
func (l *Locker) handOver(key string, st *leaseState, now time.Time) bool {
	ok, pending := l.queue.HandOver(key, st, now)
	if !ok && pending != nil {
		l.extend(st)
		<-pending // one round trip; to release and acquire the key would be two
		ok, _ = l.queue.HandOver(key, st, time.Now())
	}
	if ok {
		l.extend(st)
	}
	return ok
}

// extend asks the store in the background, once for each range of tokens, whether others
// wait for the key. If not, the store issues another range.
func (l *Locker) extend(st *leaseState) {
	done := st.RequestExtend()
	if done == nil {
		return
	}
	l.life.background(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(l.bg, min(extendTimeout, st.TTL()))
		defer cancel()
		g, err := l.extender.Extend(ctx, st.LastGrant(), leasestate.Tokens(l.cfg.HandOverTime))
		switch {
		case err == nil:
			st.Extend(g.Sent)
			st.AddTokens(g)
			l.watchdog.extended(st)
		case errors.Is(err, ErrLost):
			l.watchdog.remove(st)
			_ = st.Lose(errTaken) // does nothing if it was released meanwhile
		}
	})
}

// detach ends the share of s. The last reader gives the lease back.
func (l *Locker) detach(ctx context.Context, s *Lease, lost error) (_, err error) {
	last, over := s.state.Detach(s)
	if last {
		return l.giveBack(ctx, s, lost)
	}
	l.queue.Exit(s.Key(), false)
	if lost == nil {
		lost = over // just now, and s was told
	}
	return lost, nil
}

// giveBack releases the lease of s in the store and ends the admission to the key. It
// returns why the lease was lost, also if only the store knew, and what went wrong.
func (l *Locker) giveBack(ctx context.Context, s *Lease, lost error) (_, err error) {
	defer l.queue.Exit(s.Key(), false)

	// Unwatch first: a renewal that overtakes the release would keep the key.
	l.watchdog.remove(s.state)
	if over := s.state.Release(); lost == nil && over != leasestate.ErrReleased { //nolint:errorlint // that very value
		lost = over // just now, and s was told
	}

	switch err = l.releaseOrRetain(ctx, s, lost); {
	case err == nil:
		return lost, nil
	case !errors.Is(err, ErrLost):
		return lost, unavailable(err)
	case lost == nil:
		s.lost(errTaken)()
		return errTaken, nil
	default:
		return lost, nil
	}
}

// forward passes on what a caller of class c got that had given up: its admission, and
// perhaps a lease.
func (l *Locker) forward(key string, c compat.Class, st *leaseState) {
	if st != nil {
		if !c.Shares() && l.handOver(key, st, time.Now()) {
			return
		}
		l.discard(st)
	}
	l.queue.Exit(key, st == nil && c.Sharing.Mode == Shared)
}

// discard gives back a lease that was passed on to a caller and not assigned to it, unless
// others share it.
func (l *Locker) discard(st *leaseState) {
	if st.Class().Shares() {
		if last, _ := st.Detach(nil); !last {
			return
		}
	}
	l.watchdog.remove(st)
	_ = st.Release() // it has no holder
	l.releaseInBackground(st.LastGrant())
}

// releaseOrRetain makes one attempt to release the key of s, or to have the store keep it
// for what is left of its MinHold. If there is no answer it goes on in the background. A
// lease that was lost has no key to keep, unless it was lost because the Locker is closed.
func (l *Locker) releaseOrRetain(ctx context.Context, s *Lease, lost error) error {
	left := s.minHoldLeft()
	g := s.state.LastGrant()
	if left == 0 || lost != nil && !errors.Is(lost, ErrClosed) {
		err := l.sendRelease(ctx, g)
		if err != nil && !errors.Is(err, ErrLost) {
			l.releaseInBackground(g)
		}
		return err
	}
	if pending := s.state.ExtendRequested(); pending != nil {
		<-pending // it extends the lease
	}
	own, end := l.outlive(ctx, g)
	defer end()
	err := l.retain(own, g, left)
	switch {
	case err == nil:
		l.releaseAfter(left, g)
	case !errors.Is(err, ErrLost):
		l.retainInBackground(s)
	}
	return err
}

// sendRelease makes one attempt for a caller. It is sent even if ctx has ended: the lock
// of a request that was cancelled must not stay behind.
func (l *Locker) sendRelease(ctx context.Context, g driver.Grant) error {
	own, end := l.outlive(ctx, g)
	defer end()
	sent := time.Now()
	err := l.backend.Release(own, g)
	if err == nil {
		l.roundTrip.Add(time.Since(sent))
	}
	return err
}

// outlive returns a context for one attempt to release g: with the values of ctx, and a
// time of its own.
func (l *Locker) outlive(ctx context.Context, g driver.Grant) (context.Context, context.CancelFunc) {
	if g.TTL < releaseTimeout {
		return context.WithTimeout(context.WithoutCancel(ctx), g.TTL)
	}
	return l.releases.Context(ctx), func() {}
}

// retain has the key expire by itself when the time left is over, so that a crash from now
// on changes nothing. The error wraps ErrLost if the store says that this owner does not
// have the key.
func (l *Locker) retain(ctx context.Context, g driver.Grant, left time.Duration) error {
	g.TTL, g.Retain = left, true
	switch r := driver.RenewAll(ctx, l.backend, []driver.Grant{g})[0]; r.Status {
	case driver.Renewed:
		return nil
	case driver.Lost:
		return taken(r.Err)
	default:
		return unavailable(r.Err)
	}
}

// sendReleaseBg makes one attempt in the background.
func (l *Locker) sendReleaseBg(g driver.Grant) error {
	ctx, cancel := context.WithTimeout(l.bg, min(releaseTimeout, g.TTL))
	defer cancel()
	return l.backend.Release(ctx, g)
}

// releaseInBackground makes sure that nothing of the grant is left in the store: neither a
// key whose release got no answer, or that was granted without an answer, nor a place in
// the queue. It goes on until that is certain, or until the lease has run out in any case.
// When the Locker is closed and no lease is held, it makes a last attempt at once.
func (l *Locker) releaseInBackground(g driver.Grant) {
	l.life.background(func() {
		b := backoff.New(releaseInterval, 0)
		last := false
		for start := time.Now(); time.Since(start) < g.TTL; {
			err := l.sendReleaseBg(g)
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

// retainInBackground asks the store again to keep the key of s, until it answers or the
// lease has run out. Close ends it.
//
// One answer is enough. An earlier request of this owner may still reach the store, but no
// such request shortens a lease. If it lengthens this one, the release in the end comes first.
func (l *Locker) retainInBackground(s *Lease) {
	st := s.state
	_, began := st.Holder()
	sent := st.Sent()
	l.life.background(func() {
		for l.sleep(l.life.ctx, releaseInterval+rand.N(releaseInterval), nil) {
			left := keepFor(began, s.minHold)
			if left == 0 || time.Since(sent) >= st.TTL() {
				l.releaseAfter(left, st.LastGrant())
				return
			}
			ctx, cancel := context.WithTimeout(l.life.ctx, min(releaseTimeout, st.TTL()))
			err := l.retain(ctx, st.LastGrant(), left)
			cancel()
			switch {
			case err == nil:
				l.releaseAfter(left, st.LastGrant())
				return
			case errors.Is(err, ErrLost):
				return
			}
		}
	})
}

// releaseAfter releases a retained key when the time left is over, for stores in which
// keys do not expire. Until then it costs a timer, for which Close does not wait.
func (l *Locker) releaseAfter(left time.Duration, g driver.Grant) {
	ctx, cancel := context.WithTimeout(l.life.ctx, left)
	context.AfterFunc(ctx, func() {
		defer cancel()
		if !l.life.begin() {
			return // the Locker was closed, and the timer stopped with it
		}
		defer l.life.done(nil)
		l.releaseInBackground(g)
	})
}

// releaseAll releases what is still held when Close has waited long enough.
func (l *Locker) releaseAll() {
	var releases sync.WaitGroup
	slots := make(chan struct{}, 64)
	deadline := time.Now().Add(releaseTimeout)
	for _, st := range l.watchdog.watched() {
		if time.Now().After(deadline) {
			break // the store does not answer; the leases run out by themselves
		}
		l.watchdog.remove(st)
		slots <- struct{}{}
		releases.Go(func() {
			_ = l.releaseOrRetainBg(st) // no caller is left to be told
			<-slots
		})
	}
	releases.Wait()
}

// releaseOrRetainBg makes one attempt in the background for a holder that does not.
func (l *Locker) releaseOrRetainBg(st *leaseState) error {
	s, _ := st.Holder()
	left := s.minHoldLeft()
	if left == 0 {
		return l.sendReleaseBg(st.LastGrant())
	}
	ctx, cancel := context.WithTimeout(l.bg, min(releaseTimeout, st.TTL()))
	defer cancel()
	return l.retain(ctx, st.LastGrant(), left)
}

// keepFor returns what is left now of d from began on, in whole milliseconds, rounded up:
// a store would take less than one for none. It uses the monotonic clock alone, which never
// runs ahead: a key that is kept too long costs a run, one that is kept too short runs
// twice.
func keepFor(began time.Time, d time.Duration) time.Duration {
	left := min(d-time.Since(began), d)
	if left <= 0 {
		return 0
	}
	return (left + time.Millisecond - 1).Truncate(time.Millisecond)
}
