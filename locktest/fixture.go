package locktest

import (
	"context"
	"crypto/rand"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/driver"
)

const (
	// long is the TTL of leases that must not expire during a case.
	long = time.Minute

	// patience is the limit of what must happen soon. Only a failure takes so long.
	patience = 10 * time.Second
)

// fixture is what the processes of a case share.
type fixture struct {
	*testing.T
	Features
	ctx    context.Context   //nolint:containedctx // of the case, as testing.T has one
	held   map[string]func() // by owner: releases what the case has not released
	closed map[io.Closer]bool
	doing  string // is told if the case fails
}

func newFixture(t *testing.T, features Features) *fixture {
	t.Helper()
	f := &fixture{T: t, Features: features, held: make(map[string]func()), closed: make(map[io.Closer]bool)}
	f.told()
	f.begin("")
	return f
}

// told says what the fixture did when the case failed.
func (f *fixture) told() {
	f.Cleanup(func() {
		if f.Failed() && f.doing != "" {
			f.Logf("during %s", f.doing)
		}
	})
}

// begin starts a part of the case, with a deadline of its own.
func (f *fixture) begin(doing string) {
	ctx, cancel := context.WithTimeout(f.T.Context(), 6*patience)
	f.Cleanup(cancel)
	f.ctx, f.doing = ctx, doing
}

// permits is the number of permits of the semaphores in the cases.
const permits = 3

// holderName is the name of the holder in the owners of the suite, unless a case is about names.
const holderName = "locktest-host.example/4711"

// newOwner returns an owner as the Locker does: a random UUID and a name.
func newOwner() string { return newOwnerNamed(holderName) }

func newOwnerNamed(name string) string { return uuid.NewString() + "@" + name }

// calm waits until all other goroutines wait. In real time that cannot be known, and it
// returns at once.
func (f *fixture) calm() {
	if f.Bubble {
		synctest.Wait()
	}
}

// asking returns a request of a new owner with that sharing.
func (f *fixture) asking(key string, s driver.Sharing) driver.Request {
	r := f.request(key, long)
	r.Mode, r.Permits = s.Mode, s.Permits
	return r
}

// Context returns the context of the part of the case. Unlike [testing.T.Context] it has
// a deadline, so that a call that hangs fails.
func (f *fixture) Context() context.Context { return f.ctx }

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

// permit returns a request of a new owner for a permit.
func (f *fixture) permit(key string, ttl time.Duration) driver.Request {
	r := f.request(key, ttl)
	r.Permits = permits
	return r
}

// tooSlow skips the rest of a case in which too much time has passed between two steps: a
// lease has ended, or a request was sent again, and the case shows nothing.
func (f *fixture) tooSlow() {
	f.Helper()
	f.Skip("the machine was too slow for what this case shows")
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
