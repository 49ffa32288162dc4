package locktest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

// Unreliable returns a backend for tests of code under locks. It reaches the store over a
// bad network: for times between 50 milliseconds and 20 seconds, it works, or fails, or
// answers up to three seconds late, or does what it is asked and keeps the reply back.
// In between, the store may lose all leases, as a server does that starts again.
//
// The seed decides what happens at which time after the call. Use it in a bubble of
// testing/synctest, with many seeds: there it takes no real time.
//
// It keeps the contract of package driver, as it is for servers. The next caller may have a
// key as soon as its lease is lost. The holder is told by its next renewal or its release, and
// until then only a resource that compares tokens is safe. Messages to those who wait, and
// the calls of package admin, always arrive.
func Unreliable(store *memlock.Backend, seed uint64) driver.Backend {
	u := &unreliable{Backend: store, seed: rand.New(rand.NewPCG(seed, 0)), until: time.Now()} //nolint:gosec // it is to be repeated
	u.until = u.until.Add(u.between(shortest, longest))
	return u
}

type unreliable struct {
	*memlock.Backend

	mu    sync.Mutex
	seed  *rand.Rand
	now   network
	until time.Time // then it changes
}

// network is what happens to calls.
type network struct {
	before, after error         // of a call that does not arrive, and in the place of a reply
	delay         time.Duration // of replies
}

const shortest, longest = 50 * time.Millisecond, 20 * time.Second

// between draws a duration, of which each order of magnitude is as frequent.
func (u *unreliable) between(least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), u.seed.Float64()))
}

// network returns the present one.
func (u *unreliable) network(ctx context.Context) network {
	u.mu.Lock()
	defer u.mu.Unlock()
	for !time.Now().Before(u.until) {
		delay := u.between(shortest, 3*time.Second)
		u.now = []network{{}, {}, {}, {before: errFails}, {delay: delay}, {after: errMute, delay: delay}}[u.seed.IntN(6)]
		u.until = u.until.Add(u.between(shortest, longest))
		if u.seed.IntN(2) == 0 {
			held, _ := u.Inspect(context.WithoutCancel(ctx), "", math.MaxInt)
			for _, k := range held {
				_, _ = u.ForceRelease(context.WithoutCancel(ctx), k.Key)
			}
		}
	}
	return u.now
}

var (
	errFails = errors.New("unreliable store: connection refused")
	errMute  = errors.New("unreliable store: i/o timeout")
)

// over makes a call over the network.
func over[T any](ctx context.Context, u *unreliable, call func() (T, error)) (none T, err error) {
	n := u.network(ctx)
	if n.before != nil {
		return none, n.before
	}
	answer, err := call()
	if n.delay > 0 {
		select {
		case <-time.After(n.delay):
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
	if n.after != nil {
		return none, n.after
	}
	return answer, err
}

// TryAcquire implements [driver.Backend].
func (u *unreliable) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return over(ctx, u, func() (driver.Grant, error) { return u.Backend.TryAcquire(ctx, r) })
}

// Enqueue implements [driver.Queuer].
func (u *unreliable) Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return over(ctx, u, func() (driver.Grant, error) { return u.Backend.Enqueue(ctx, r) })
}

// Renew implements [driver.Backend].
func (u *unreliable) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	results, err := over(ctx, u, func() ([]error, error) { return driver.RenewAll(ctx, u.Backend, grants), nil })
	for i := range grants {
		if err != nil {
			report(i, err)
		} else {
			report(i, results[i])
		}
	}
}

// Release implements [driver.Backend].
func (u *unreliable) Release(ctx context.Context, g driver.Grant) error {
	_, err := over(ctx, u, func() (bool, error) { return true, u.Backend.Release(ctx, g) })
	return err
}
