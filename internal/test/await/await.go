// Package await waits for a key of a backend as a Locker does, and reads its answers, for the
// suite and the tests.
package await

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Looks says when a waiter makes an attempt that nobody has asked for: after each interval
// between Every and twice that. After Attempts attempts, of which the first is at once, it
// gives up; 0 is never. The zero value is a waiter that does not look by itself for an hour.
type Looks struct {
	Every    time.Duration
	Attempts int
}

// Backend is what a waiter calls: ask is TryAcquire or Enqueue, and turn is nil without a
// [driver.Waker].
type Backend struct {
	Ask  func(ctx context.Context, r driver.Request) (driver.Grant, error)
	Turn func(ctx context.Context, r driver.Request) <-chan driver.Grant
}

// Grant waits for a key. A grant whose lease is over when it arrives is not a lock: it asks
// again.
func Grant(ctx context.Context, b Backend, r driver.Request, looks Looks) (driver.Grant, error) {
	if looks.Every == 0 {
		looks.Every = time.Hour
	}
	watching, end := context.WithCancel(ctx)
	defer end()
	var turn <-chan driver.Grant
	var breath time.Duration // before a channel that is closed is replaced
	next := time.Now()
	for n := 0; ; {
		if now := time.Now(); !now.Before(next) {
			next = now.Add(looks.Every + rand.N(looks.Every))
			n++
		}
		g, err := b.Ask(ctx, r)
		held := new(driver.HeldError)
		switch {
		case !errors.Is(err, driver.ErrNotAcquired) || n == looks.Attempts:
			return g, err
		case turn == nil && b.Turn != nil:
			turn = b.Turn(watching, r)
		}
		pause := time.Until(next)
		if errors.As(err, &held) && held.RetryAfter > 0 {
			pause = min(pause, max(held.RetryAfter, 2*time.Millisecond))
		}
		select {
		case g, open := <-turn:
			if g.Owner != "" && Running(g.Sent, g.TTL) {
				return g, nil
			}
			if !open {
				turn = nil
				time.Sleep(breath) // a store that closes each channel at once is slow, and no more
				breath = time.Millisecond
			}
		case <-time.After(pause):
		case <-ctx.Done():
			return driver.Grant{}, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

// Running reports whether a lease that was requested or renewed at sent must be running
// still.
func Running(sent time.Time, ttl time.Duration) bool { return time.Since(sent) < ttl-Margin(ttl) }

// Margin is how long before the store the Locker takes a lease for ended.
func Margin(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// InDoubt reports whether the result of a renewal says neither that it was done nor that the
// lease is lost.
func InDoubt(result error) bool { return result != nil && !errors.Is(result, driver.ErrLost) }
