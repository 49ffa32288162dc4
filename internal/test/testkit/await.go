package testkit

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

// Await waits for a key of a backend as a Locker does.
func Await(ctx context.Context, q driver.Queuer, r driver.Request, looks Looks) (driver.Grant, error) {
	if looks.Every == 0 {
		looks.Every = time.Hour
	}
	watching, end := context.WithCancel(ctx)
	defer end()
	var turn <-chan driver.Grant
	next := time.Now()
	for n := 0; ; {
		if now := time.Now(); !now.Before(next) {
			next = now.Add(looks.Every + rand.N(looks.Every))
			n++
		}
		g, err := q.Enqueue(ctx, r)
		held := new(driver.HeldError)
		switch {
		case !errors.Is(err, driver.ErrNotAcquired) || n == looks.Attempts:
			return g, err
		case turn == nil:
			turn = q.Turn(watching, r)
		}
		pause := time.Until(next)
		if errors.As(err, &held) && held.RetryAfter > 0 {
			pause = min(pause, max(held.RetryAfter, 2*time.Millisecond))
		}
		select {
		case g, open := <-turn:
			if g.Owner != "" {
				return g, nil
			}
			if !open {
				turn = nil
			}
		case <-time.After(pause):
		case <-ctx.Done():
			return driver.Grant{}, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}
