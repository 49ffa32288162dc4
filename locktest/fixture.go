package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

const (
	// long is the TTL of leases that must not expire during a case.
	long = time.Minute

	// patience is the limit of what must happen soon. Only a failure takes so long.
	patience = 10 * time.Second
)

// fixture is what a case works with: its own backend, and checks that hold for every
// answer of every backend.
type fixture struct {
	*testing.T
	Features
	backend   driver.Backend
	queue     driver.Queuer    // nil if the backend is not one
	extender  driver.Extender  // nil if the backend is not one
	waker     driver.Waker     // nil if the backend is not one
	revoker   driver.Revoker   // nil if the backend is not one
	inspector driver.Inspector // nil if the backend is not one
	pinger    driver.Pinger    // nil if the backend is not one
	can       driver.Features
	ctx       context.Context   //nolint:containedctx // that of the case, as testing.T has one
	held      map[string]func() // by owner: releases what the case has not released
	closed    map[io.Closer]bool
}

func newFixture(t *testing.T, newBackend func(t *testing.T) driver.Backend, features Features) *fixture {
	t.Helper()
	f := &fixture{T: t, Features: features, held: make(map[string]func()), closed: make(map[io.Closer]bool)}
	f.use(newBackend(t))
	f.Cleanup(func() {
		if now := f.backend.Features(); now != f.can {
			f.Errorf("Features returned %+v at first, and %+v at the end; the Locker asks once", f.can, now)
		}
	})
	// After a failure, a key that stays held would keep its waiters, and so the case,
	// from ending.
	f.Cleanup(func() {
		for _, release := range f.held {
			release()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
	f.Cleanup(cancel)
	f.ctx = ctx
	return f
}

// use makes the fixture work with b, and closes it at the end.
func (f *fixture) use(b driver.Backend) {
	f.backend = b
	f.can = b.Features()
	f.queue, _ = b.(driver.Queuer)
	f.extender, _ = b.(driver.Extender)
	f.waker, _ = b.(driver.Waker)
	f.revoker, _ = b.(driver.Revoker)
	f.inspector, _ = b.(driver.Inspector)
	f.pinger, _ = b.(driver.Pinger)
	c, ok := b.(io.Closer)
	if !ok {
		return
	}
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

// Context returns the context of the case. Unlike [testing.T.Context] it has a deadline,
// so that a call that hangs fails.
func (f *fixture) Context() context.Context { return f.ctx }

// peer returns the fixture of another process, with the same store.
func (f *fixture) peer() *fixture {
	f.Helper()
	p := *f
	p.use(f.Peer(f.T, f.backend))
	if (f.queue != nil && p.queue == nil) || (f.waker != nil && p.waker == nil) || (f.revoker != nil && p.revoker == nil) {
		f.Fatal("the peer lacks an ability of the first backend")
	}
	return &p
}

// last returns the fixture of the last process, which is the second if there are two.
func (f *fixture) last() *fixture {
	f.Helper()
	if f.Peer == nil {
		return f
	}
	return f.peer()
}

// key returns a key that no other case uses.
func (f *fixture) key() string { return "locktest:" + rand.Text() }

// request returns a request of a new owner.
func (f *fixture) request(key string, ttl time.Duration) driver.Request {
	return driver.Request{Key: key, Owner: newOwner(), TTL: ttl, Tokens: 1}
}

// reader returns a request of a new owner for Shared.
func (f *fixture) reader(key string, ttl time.Duration) driver.Request {
	r := f.request(key, ttl)
	r.Mode = driver.Shared
	return r
}

// permits is the number of permits of the semaphores in the cases.
const permits = 3

// modes are the ways in which the backend can share a key, as functions that return a
// request of a new owner.
func (f *fixture) modes() []func(key string, ttl time.Duration) driver.Request {
	modes := []func(string, time.Duration) driver.Request{f.request}
	if f.can.Sharing {
		modes = append(modes, f.reader, f.permit)
	}
	return modes
}

// permit returns a request of a new owner for a permit.
func (f *fixture) permit(key string, ttl time.Duration) driver.Request {
	r := f.request(key, ttl)
	r.Permits = permits
	return r
}

// holderName is the name of the holder in the owners of the suite, unless a case is about names.
const holderName = "locktest-host.example/4711"

// newOwner returns an owner like those of the Locker: a random UUID and a name.
func newOwner() string { return newOwnerNamed(holderName) }

func newOwnerNamed(name string) string { return uuid.NewString() + "@" + name }

// attempt calls TryAcquire, and checks the grant.
func (f *fixture) attempt(r driver.Request) (driver.Grant, error) {
	f.Helper()
	before := time.Now()
	g, err := f.backend.TryAcquire(f.Context(), r)
	if err == nil {
		f.inspect(g, r, before)
	}
	return g, err
}

// try acquires a free key.
func (f *fixture) try(r driver.Request) driver.Grant {
	f.Helper()
	return f.tryFor(f.Settle, r)
}

// seize acquires a key that becomes free in time, as the lease of the holder ends.
func (f *fixture) seize(r driver.Request, within time.Duration) driver.Grant {
	f.Helper()
	return f.tryFor(within+f.soon(), r)
}

// tryFor makes attempts until it gets the key, which must have become free by the limit.
func (f *fixture) tryFor(limit time.Duration, r driver.Request) driver.Grant {
	f.Helper()
	for start := time.Now(); ; time.Sleep(f.tick()) {
		g, err := f.attempt(r)
		if err == nil {
			return g
		}
		if took := time.Since(start); !errors.Is(err, driver.ErrNotAcquired) || took >= limit {
			f.Fatalf("TryAcquire of a free key, after %v: %v", took, err)
		}
	}
}

// hold acquires a key that no other case uses.
func (f *fixture) hold(ttl time.Duration) (key string, g driver.Grant) {
	f.Helper()
	g = f.try(f.request(f.key(), ttl))
	return g.Key, g
}

// inspect checks the fields of a grant. It is released at the end of the case, unless the
// case has released it.
func (f *fixture) inspect(g driver.Grant, r driver.Request, before time.Time) {
	f.Helper()
	f.held[g.Owner] = func() { _ = f.backend.Release(context.WithoutCancel(f.ctx), g) }
	if g.Key != r.Key || g.Owner != r.Owner || g.TTL != r.TTL {
		f.Errorf("asked for %q, %s, %v; granted %q, %s, %v", r.Key, r.Owner, r.TTL, g.Key, g.Owner, g.TTL)
	}
	if g.Mode != r.Mode || g.Permits != r.Permits {
		f.Errorf("asked for %v, %d permits; granted %v, %d", r.Mode, r.Permits, g.Mode, g.Permits)
	}
	if g.Sent.Before(before) || g.Sent.After(time.Now()) {
		f.Errorf("Grant.Sent is not within the call: %v after its start", g.Sent.Sub(before))
	}
	switch asked := uint64(max(r.Tokens, 1)); {
	case f.NoTokens:
		if g.Token != 0 || g.LastToken != 0 {
			f.Errorf("a backend without tokens granted %d to %d", g.Token, g.LastToken)
		}
	case g.Token == 0 || g.LastToken < g.Token || g.LastToken-g.Token >= asked:
		f.Errorf("asked for at most %d tokens; granted %d to %d", asked, g.Token, g.LastToken)
	}
}

// busy checks that r is refused at once because another owner holds the key.
func (f *fixture) busy(r driver.Request) {
	f.Helper()
	start := time.Now()
	_, err := f.backend.TryAcquire(f.Context(), r)
	if d := time.Since(start); d > f.soon() {
		f.Errorf("TryAcquire took %v", d)
	}
	f.mustBeHeld(err)
}

// mustBeHeld checks the error of a request for a key that another owner holds.
func (f *fixture) mustBeHeld(err error) {
	f.Helper()
	switch {
	case err == nil:
		f.Fatal("the key was granted although another owner holds it")
	case !errors.Is(err, driver.ErrNotAcquired):
		f.Fatalf("another owner holds the key, but the error does not wrap ErrNotAcquired: %v", err)
	case errors.Is(err, driver.ErrLost), errors.Is(err, distlock.ErrUnavailable):
		f.Errorf("another owner holds the key, and the error wraps more than ErrNotAcquired: %v", err)
	}
}

// release releases a key that is held.
func (f *fixture) release(g driver.Grant) {
	f.Helper()
	if err := f.backend.Release(f.Context(), g); err != nil {
		f.Fatalf("Release by the holder: %v", err)
	}
	delete(f.held, g.Owner)
}

// releaseLast releases a key that is held, and checks that it is free then.
func (f *fixture) releaseLast(g driver.Grant) {
	f.Helper()
	f.release(g)
	f.free(g.Key)
}

// giveUp releases a request, whether it was granted, waits, or neither. If another owner
// has the key, the error may say so.
func (f *fixture) giveUp(r driver.Request) {
	f.Helper()
	if err := f.backend.Release(f.Context(), r.Grant()); err != nil && !errors.Is(err, driver.ErrLost) {
		f.Fatalf("Release without tokens: %v", err)
	}
}

// free checks that the key is free.
func (f *fixture) free(key string) {
	f.Helper()
	f.release(f.try(f.request(key, long)))
}

// renewAll renews several grants. Each outcome must be known.
func (f *fixture) renewAll(grants ...driver.Grant) []driver.RenewResult {
	f.Helper()
	results := f.renewUnder(f.Context(), grants, nil)
	for i, r := range results {
		if r.Status == driver.Unknown || r.Err != nil {
			f.Fatalf("Renew, grant %d of %d: %v, %v", i, len(results), r.Status, r.Err)
		}
	}
	return results
}

// running reports whether a lease that was requested or renewed at sent must be running
// still. It allows the margin between the Locker's deadline and the store's.
func running(sent time.Time, ttl time.Duration) bool {
	return time.Since(sent) < ttl-ttl/100-2*time.Millisecond
}

// tooSlow skips the rest of a case in which too much time has passed between two steps: a
// lease has ended, or a request was sent again, and the case shows nothing.
func (f *fixture) tooSlow() {
	f.Helper()
	f.Skip("the machine was too slow for what this case shows")
}

// mustHaveEnded checks, when another owner has the key, that the lease of g may have ended.
func (f *fixture) mustHaveEnded(g driver.Grant) {
	f.Helper()
	if running(g.Sent, g.TTL) {
		f.Errorf("another owner got the key %v after the request of the holder, with a lease of %v", time.Since(g.Sent), g.TTL)
	}
}

// soon is how late something may happen that depends on the clock. In real time a busy
// machine needs a lot.
func (f *fixture) soon() time.Duration {
	if f.Bubble {
		return f.Lease / 2
	}
	return patience
}

// tick is how long to wait before looking again.
func (f *fixture) tick() time.Duration { return max(f.Lease/250, time.Millisecond) }
