package placequeue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// ErrGivenUp is the error of an attempt if the owner was released meanwhile.
var ErrGivenUp = fmt.Errorf("released while waiting: %w", driver.ErrNotAcquired)

// errSpent ends a wait when its budget is spent.
var errSpent = errors.New("no attempt is left")

// retryInterval is the wait of a request without a Backoff.
const retryInterval = 500 * time.Millisecond

// Obstacle is why an owner does not get the key now. The zero value is none.
type Obstacle interface {
	comparable

	// Watch returns a channel with a value when the obstacle may be gone, or with an error
	// if it cannot be watched. It watches until ctx ends.
	Watch(ctx context.Context) <-chan error
	// Ended returns a channel that is closed when the session of the owner's place has ended.
	Ended() <-chan struct{}
	// Remains reports whether the obstacle and the owner's place are still there. It costs
	// less than an attempt.
	Remains(ctx context.Context) bool
	// Err returns why the owner does not have the key. It names the holder.
	Err(ctx context.Context) error
}

// Acquire makes attempts for a ticket until one meets no obstacle, and returns its result. If ctx
// or the budget ends the wait, the error also says what the last obstacle was.
func Acquire[O Obstacle](ctx context.Context, bg *Background, gone <-chan struct{}, budget driver.Backoff, attempt func() (driver.Grant, O, error)) (driver.Grant, error) {
	if budget == nil {
		budget = driver.NewBackoff(retryInterval, 0)
	}
	w := waiter[O]{background: bg, gone: gone, budget: budget}
	var none O
	for {
		g, o, err := attempt()
		if o != none {
			w.last = o
			if err = w.wait(ctx); err == nil {
				continue
			}
		}
		switch {
		case w.last == none:
		case errors.Is(err, errSpent):
			err = w.last.Err(ctx)
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			err = fmt.Errorf("%w: %w", w.last.Err(ctx), err)
		}
		return g, err
	}
}

// waiter is one call of Acquire.
type waiter[O Obstacle] struct {
	background *Background
	gone       <-chan struct{}
	budget     driver.Backoff
	last       O
	look       <-chan time.Time // when to look without an event; nil if it is not set
}

// wait returns nil when the last obstacle may be gone, and when ctx ends: the next attempt says
// why it fails. An event does not count as an attempt of the budget: the timer continues.
func (w *waiter[O]) wait(ctx context.Context) error {
	watching, end := context.WithCancel(ctx)
	defer end()
	changed := w.last.Watch(watching)
	for {
		if w.look == nil {
			d, ok := w.budget.Wait()
			if !ok {
				return errSpent
			}
			w.look = time.After(d)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.gone:
			return ErrGivenUp
		case <-w.last.Ended():
			return nil
		case <-w.background.Done():
			return context.Cause(w.background)
		case err := <-changed:
			return err
		case <-w.look:
			if w.look = nil; !w.last.Remains(ctx) {
				return nil
			}
		}
	}
}
