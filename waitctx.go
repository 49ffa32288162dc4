package distlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/backoff"
)

// lastLook is how long an operation of the store that is in progress when MaxWait ends
// may continue. A store that works answers sooner. A silent store must not extend
// MaxWait to the length of its timeouts.
const lastLook = 500 * time.Millisecond

// errSilent is the store's error if MaxWait ended an operation.
var errSilent = errors.New("no answer by the end of MaxWait")

// waitCtx is the context of the operations of one acquisition with MaxWait. It is
// derived from its parent and ends soon after the wait. The function never sees it. Like
// the context of a lease, it is created when it is first used: most locks are acquired
// at once, and a timer costs more than that.
type waitCtx struct {
	context.Context //nolint:containedctx // it is one itself

	until time.Time

	mu     sync.Mutex
	inner  context.Context //nolint:containedctx // nil until it is first used
	cancel context.CancelFunc
}

// within returns the context below ctx for the operations of an acquisition: ctx
// itself and nil if there is no MaxWait.
func within(ctx context.Context, b *backoff.Budget) (context.Context, *waitCtx) {
	_, until := b.MaxWait()
	if until.IsZero() {
		return ctx, nil
	}
	w := &waitCtx{Context: ctx, until: until.Add(lastLook)}
	return w, w
}

// end releases the resources of c.
func (c *waitCtx) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// own returns the error of an operation under c. If MaxWait ended the operation, own
// removes the error of c: the caller does not know c, and its own context goes on.
func (c *waitCtx) own(err error) error {
	if c == nil || !errors.Is(err, context.DeadlineExceeded) || time.Now().Before(c.until) {
		return err
	}
	if held := new(HeldError); errors.As(err, &held) {
		return held
	}
	for _, known := range []error{ErrForeign, ErrNotAcquired} {
		if errors.Is(err, known) {
			return known
		}
	}
	if text := err.Error(); text != context.DeadlineExceeded.Error() {
		return fmt.Errorf("%w: %s", errSilent, text)
	}
	return errSilent
}

// Deadline implements context.Context.
func (c *waitCtx) Deadline() (time.Time, bool) {
	if end, ok := c.Context.Deadline(); ok && end.Before(c.until) {
		return end, true
	}
	return c.until, true
}

// Done implements context.Context.
func (c *waitCtx) Done() <-chan struct{} { return c.looked().Done() }

// Err implements context.Context.
func (c *waitCtx) Err() error {
	c.mu.Lock()
	untouched := c.inner == nil
	c.mu.Unlock()
	if untouched && time.Now().Before(c.until) && c.Context.Err() == nil {
		return nil
	}
	return c.looked().Err() // from now on the same
}

// Value asks the inner context if there is one: code that derives a context has used c
// before, and asks here for the parent to be cancelled with.
func (c *waitCtx) Value(key any) any {
	c.mu.Lock()
	inner := c.inner
	c.mu.Unlock()
	if inner == nil {
		inner = c.Context
	}
	return inner.Value(key)
}

func (c *waitCtx) looked() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithDeadline(c.Context, c.until)
	}
	return c.inner
}
