package locktest

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
)

// process is the backend of a process, and checks that hold for every answer of every
// backend.
type process struct {
	*fixture
	backend   driver.Backend
	queue     driver.Queuer    // nil if the backend is not one
	extender  driver.Extender  // nil if the backend is not one
	waker     driver.Waker     // nil if the backend is not one
	revoker   driver.Revoker   // nil if the backend is not one
	inspector driver.Inspector // nil if the backend is not one
	pinger    driver.Pinger    // nil if the backend is not one
	can       driver.Features
}

// newProcess returns the process of a backend, which is closed at the end of the case.
func newProcess(f *fixture, b driver.Backend) *process {
	p := &process{fixture: f, backend: b, can: b.Features()}
	p.queue, _ = b.(driver.Queuer)
	p.extender, _ = b.(driver.Extender)
	p.waker, _ = b.(driver.Waker)
	p.revoker, _ = b.(driver.Revoker)
	p.inspector, _ = b.(driver.Inspector)
	p.pinger, _ = b.(driver.Pinger)
	if c, ok := b.(io.Closer); ok {
		f.Cleanup(func() {
			if f.closed[c] { // by a Locker
				return
			}
			f.closed[c] = true
			if err := c.Close(); err != nil {
				f.Errorf("closing the backend: %v", err)
			}
		})
	}
	f.Cleanup(func() {
		if now := b.Features(); now != p.can {
			f.Errorf("Features returned %+v at first, and %+v at the end; the Locker asks once", p.can, now)
		}
	})
	// After a failure, a key that stays held would keep its waiters, and so the case,
	// from ending.
	f.Cleanup(func() {
		for _, release := range f.held {
			release()
		}
		clear(f.held)
	})
	return p
}

// made returns the process of a backend that a function of the author makes. A case calls them
// on several goroutines, and authors keep a map of their backends: so one at a time.
func (p *process) made(by func() driver.Backend) *process {
	p.Helper()
	p.turn.Lock()
	defer p.turn.Unlock()
	return newProcess(p.fixture, by())
}

// peer returns another process with the same store.
func (p *process) peer() *process {
	p.Helper()
	other := p.made(func() driver.Backend { return p.Peer(p.T, p.backend) })
	if (p.queue != nil) != (other.queue != nil) || (p.waker != nil) != (other.waker != nil) || (p.revoker != nil) != (other.revoker != nil) {
		p.Fatal("the peer has other abilities than the first backend")
	}
	return other
}

// last returns the last process, which is the second if there are two.
func (p *process) last() *process {
	p.Helper()
	if p.Peer == nil {
		return p
	}
	return p.peer()
}

// overNetwork returns another process, over a network of its own. It has had a key before.
func (p *process) overNetwork() (*process, *Network) {
	p.Helper()
	n := new(Network)
	over := p.made(func() driver.Backend { return p.Over(p.T, p.backend, n) })
	p.Cleanup(n.heal) // before the backend is closed
	over.free(p.key())
	return over, n
}

// apart returns the process for a part of the case on another goroutine.
func (p *process) apart() *process {
	f := *p.fixture
	f.held, f.closed = make(map[string]func()), make(map[io.Closer]bool)
	f.told()
	own := *p
	own.fixture = &f
	return &own
}

// ask makes an attempt of an owner that may wait.
func (p *process) ask(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if p.queue != nil {
		return p.queue.Enqueue(ctx, r)
	}
	return p.backend.TryAcquire(ctx, r)
}

// close closes the backend.
func (p *process) close() {
	p.Helper()
	c := p.backend.(io.Closer) //nolint:forcetypeassert // needsClose
	if p.closed[c] = true; c.Close() != nil {
		p.Error("Close failed")
	}
	clear(p.held)
}

// releaseLost releases a key that another owner has.
func (p *process) releaseLost(g driver.Grant) {
	p.Helper()
	start := time.Now()
	err := p.backend.Release(p.Context(), g)
	if err == nil && p.Resend > 0 && time.Since(start) >= p.Resend {
		p.tooSlow()
	}
	p.mustBeLost(err)
}

// mustBeLost checks the error of an owner that does not have the key.
func (p *process) mustBeLost(err error) {
	p.Helper()
	if !errors.Is(err, driver.ErrLost) {
		p.Errorf("the owner does not have the key, but the error does not wrap ErrLost: %v", err)
	}
}

// mustSay calls ForceRelease or Revoke, which must say whether the key is held.
func (p *process) mustSay(held bool, ask func(context.Context, string) (bool, error), key string) {
	p.Helper()
	if got, err := ask(p.Context(), key); err != nil || got != held {
		p.Fatalf("ForceRelease or Revoke returned %v, %v; want %v", got, err, held)
	}
}

// mustRise checks the tokens of two grants of a key, if the backend issues tokens.
func (p *process) mustRise(earlier, later driver.Grant) {
	p.Helper()
	if !p.NoTokens && later.Token <= earlier.LastToken {
		p.Errorf("tokens %d to %d, and then %d to %d", earlier.Token, earlier.LastToken, later.Token, later.LastToken)
	}
}

// take takes n permits of a semaphore.
func (p *process) take(key string, n int) []driver.Grant {
	p.Helper()
	grants := make([]driver.Grant, n)
	for i := range grants {
		grants[i] = p.try(p.permit(key, long))
	}
	return grants
}

// regain makes attempts until the owner has a key that is free, or that it has already.
func (p *process) regain(r driver.Request) driver.Grant {
	p.Helper()
	for start := time.Now(); ; time.Sleep(p.tick()) {
		g, err := p.attempt(r)
		if err == nil {
			return g
		}
		took := time.Since(start)
		if errors.Is(err, driver.ErrNotAcquired) && took >= p.Settle || took > 2*patience {
			p.Fatalf("no other owner has the key, and TryAcquire has, after %v, the error %v", took, err)
		}
	}
}

// insist repeats a call until its outcome is known.
func (p *process) insist(what string, call func() error) error {
	p.Helper()
	for start := time.Now(); ; time.Sleep(p.tick()) {
		err := call()
		if err == nil || errors.Is(err, driver.ErrLost) || errors.Is(err, driver.ErrNotAcquired) {
			return err
		}
		if took := time.Since(start); took > 2*patience {
			p.Fatalf("%s, after %v: %v", what, took, err)
		}
	}
}

// modes are the ways in which the backend can share a key, as functions that return a
// request of a new owner.
func (p *process) modes() []func(key string, ttl time.Duration) driver.Request {
	modes := []func(string, time.Duration) driver.Request{p.request}
	if p.can.Sharing {
		modes = append(modes, p.reader, p.permit)
	}
	return modes
}

// attempt calls TryAcquire, and checks the grant.
func (p *process) attempt(r driver.Request) (driver.Grant, error) {
	p.Helper()
	before := time.Now()
	g, err := p.backend.TryAcquire(p.Context(), r)
	if err == nil {
		p.inspect(g, r, before)
	}
	return g, err
}

// try acquires a free key.
func (p *process) try(r driver.Request) driver.Grant {
	p.Helper()
	return p.tryFor(p.Settle, r)
}

// seize acquires a key that becomes free in time, as the lease of the holder ends.
func (p *process) seize(r driver.Request, within time.Duration) driver.Grant {
	p.Helper()
	return p.tryFor(within+p.soon(), r)
}

// tryFor makes attempts until it gets the key, which must have become free by the limit.
func (p *process) tryFor(limit time.Duration, r driver.Request) driver.Grant {
	p.Helper()
	for start := time.Now(); ; time.Sleep(p.tick()) {
		g, err := p.attempt(r)
		if err == nil {
			return g
		}
		if took := time.Since(start); !errors.Is(err, driver.ErrNotAcquired) || took >= limit {
			p.Fatalf("TryAcquire of a free key, after %v: %v", took, err)
		}
	}
}

// hold acquires a key that no other case uses.
func (p *process) hold(ttl time.Duration) (key string, g driver.Grant) {
	p.Helper()
	g = p.try(p.request(p.key(), ttl))
	return g.Key, g
}

// inspect checks the fields of a grant. It is released at the end of the case, unless the
// case has released it.
func (p *process) inspect(g driver.Grant, r driver.Request, before time.Time) {
	p.Helper()
	p.held[g.Owner] = func() { _ = p.backend.Release(context.WithoutCancel(p.ctx), g) }
	if g.Key != r.Key || g.Owner != r.Owner || g.TTL != r.TTL {
		p.Errorf("asked for %q, %s, %v; granted %q, %s, %v", r.Key, r.Owner, r.TTL, g.Key, g.Owner, g.TTL)
	}
	if g.Mode != r.Mode || g.Permits != r.Permits {
		p.Errorf("asked for %v, %d permits; granted %v, %d", r.Mode, r.Permits, g.Mode, g.Permits)
	}
	if g.Sent.Before(before) || g.Sent.After(time.Now()) {
		p.Errorf("Grant.Sent is not within the call: %v after its start", g.Sent.Sub(before))
	}
	switch asked := uint64(max(r.Tokens, 1)); {
	case p.NoTokens:
		if g.Token != 0 || g.LastToken != 0 {
			p.Errorf("a backend without tokens granted %d to %d", g.Token, g.LastToken)
		}
	case g.Token == 0 || g.LastToken < g.Token || g.LastToken-g.Token >= asked:
		p.Errorf("asked for at most %d tokens; granted %d to %d", asked, g.Token, g.LastToken)
	}
}

// busy checks that r is refused at once because another owner holds the key.
func (p *process) busy(r driver.Request) {
	p.Helper()
	start := time.Now()
	_, err := p.backend.TryAcquire(p.Context(), r)
	if d := time.Since(start); d > p.soon() {
		p.Errorf("TryAcquire took %v", d)
	}
	p.mustBeHeld(err)
}

// mustBeHeld checks the error of a request for a key that another owner holds.
func (p *process) mustBeHeld(err error) {
	p.Helper()
	switch {
	case err == nil:
		p.Fatal("the key was granted although another owner holds it")
	case !errors.Is(err, driver.ErrNotAcquired):
		p.Fatalf("another owner holds the key, but the error does not wrap ErrNotAcquired: %v", err)
	case errors.Is(err, driver.ErrLost), errors.Is(err, distlock.ErrUnavailable):
		p.Errorf("another owner holds the key, and the error wraps more than ErrNotAcquired: %v", err)
	}
}

// mustBeOpen checks the error of a call that may have had no answer, while no other owner asks
// for the key.
func (p *process) mustBeOpen(call string, err error) {
	p.Helper()
	if errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, driver.ErrLost) {
		p.Errorf("no other owner asks for the key, and %s, which may have had no answer, has the error %v", call, err)
	}
}

// release releases a key that is held.
func (p *process) release(g driver.Grant) {
	p.Helper()
	if err := p.backend.Release(p.Context(), g); err != nil {
		p.Fatalf("Release by the holder: %v", err)
	}
	delete(p.held, g.Owner)
}

// releaseLast releases a key that is held, and checks that it is free then.
func (p *process) releaseLast(g driver.Grant) {
	p.Helper()
	p.release(g)
	p.free(g.Key)
}

// giveUp releases a request, whether it was granted, waits, or neither. If another owner
// has the key, the error may say so.
func (p *process) giveUp(r driver.Request) {
	p.Helper()
	if err := p.backend.Release(p.Context(), r.Grant()); err != nil && !errors.Is(err, driver.ErrLost) {
		p.Fatalf("Release without tokens: %v", err)
	}
}

// free checks that the key is free.
func (p *process) free(key string) {
	p.Helper()
	p.release(p.try(p.request(key, long)))
}

// mustHaveEnded checks, when another owner has the key, that the lease of g may have ended.
func (p *process) mustHaveEnded(g driver.Grant) {
	p.Helper()
	if await.Running(g.Sent, g.TTL) {
		p.Errorf("another owner got the key %v after the request of the holder, with a lease of %v", time.Since(g.Sent), g.TTL)
	}
}

// mustRepeat checks the grant of a repeated request: its tokens are not smaller than those of
// the first one, of which the caller may not know.
func (p *process) mustRepeat(first, again driver.Grant) {
	p.Helper()
	if again.Token < first.Token || again.LastToken < first.LastToken || (again.Token == 0) != (first.Token == 0) {
		p.Errorf("tokens %d to %d at first, then %d to %d", first.Token, first.LastToken, again.Token, again.LastToken)
	}
}
