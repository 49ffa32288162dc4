// Package firstuse has what is checked once, by whoever comes first.
package firstuse

import (
	"context"
	"sync/atomic"
)

// Check is a check that must succeed once. It is safe for concurrent use.
type Check struct {
	calling chan struct{} // has a value during a call
	done    atomic.Bool
}

// New returns a Check that has not succeeded yet.
func New() *Check { return &Check{calling: make(chan struct{}, 1)} }

// Done reports whether a call has succeeded.
func (c *Check) Done() bool { return c.done.Load() }

// Do calls f with ctx and returns its error, unless a call has succeeded. While another
// caller calls, it waits until ctx ends. A failure counts for its own caller alone.
func (c *Check) Do(ctx context.Context, f func(context.Context) error) error {
	if c.Done() {
		return nil
	}
	select {
	case c.calling <- struct{}{}:
		defer func() { <-c.calling }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.Done() {
		return nil
	}
	err := f(ctx)
	c.done.Store(err == nil)
	return err
}
