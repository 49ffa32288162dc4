package distlock

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/bridge"
	"github.com/distlock-go/distlock/internal/leasestate"
)

// leaseCtx is the context of a lease: derived from its parent, and cancelled when the lease
// is over. The context that can be cancelled is made when it is first used, because many
// functions never use it, and it costs more than a hand-over.
type leaseCtx struct {
	lease  *Lease
	parent context.Context //nolint:containedctx // it is one itself

	mu     sync.Mutex
	cause  error           // of a cancellation before the first use
	inner  context.Context //nolint:containedctx // nil until it is first used
	cancel context.CancelCauseFunc
}

type leaseKey struct{}

// FromContext returns the innermost lease under which the caller runs. It returns false
// where there is none, and below [Detach].
func FromContext(ctx context.Context) (*Lease, bool) {
	s, _ := ctx.Value(leaseKey{}).(*Lease)
	return s, s != nil
}

// Held returns the lease of a full key under which the caller runs, for an assertion in code
// that must not run without the lock. It returns false if there is none, or if it is lost or
// released. It does no I/O.
func Held(ctx context.Context, key string) (*Lease, bool) {
	innermost, _ := FromContext(ctx)
	for s := innermost; s != nil; s = s.outer {
		if s.Key() == key {
			if s.over() != nil {
				break
			}
			return s, true
		}
	}
	return nil, false
}

// Detach returns ctx without its leases, tickets, cancellation and deadline, for a goroutine
// that outlives the locked call and takes locks of its own. With the call's own context
// it would get [ErrLost] for the key of the call.
func Detach(ctx context.Context) context.Context {
	ctx = context.WithValue(context.WithoutCancel(ctx), bridge.Carried{}, nil)
	return context.WithValue(ctx, leaseKey{}, (*Lease)(nil))
}

func (c *leaseCtx) Deadline() (time.Time, bool) { return c.parent.Deadline() }

func (c *leaseCtx) Done() <-chan struct{} { return c.used().Done() }

func (c *leaseCtx) Err() error {
	c.mu.Lock()
	untouched := c.inner == nil && c.cause == nil
	c.mu.Unlock()
	if untouched && c.parent.Err() == nil {
		return nil
	}
	return c.used().Err() // from now on the same
}

// cancellable has no values but those that the context package looks for in a context that
// can be cancelled.
var cancellable, _ = context.WithCancel(context.Background()) //nolint:forbidigo,gosec // it never ends

// Value returns the lease for this package's key, and for a backend what keeps the lease from
// being handed over. What the context package looks for has to come from the context that can
// be cancelled, which is made for that: otherwise a context derived from c would need a
// goroutine, and its cause would be the parent's. Every other value is the parent's.
func (c *leaseCtx) Value(key any) any {
	switch key.(type) {
	case leaseKey:
		return c.lease
	case leasestate.Binder:
		return c.lease.state.Bind
	}
	if cancellable.Value(key) != nil {
		return c.used().Value(key)
	}
	return c.parent.Value(key)
}

func (c *leaseCtx) used() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithCancelCause(c.parent)
		if c.cause != nil {
			c.cancel(c.cause)
		}
	}
	return c.inner
}

// end cancels the context, unless it was cancelled before.
func (c *leaseCtx) end(cause error) {
	c.mu.Lock()
	cancel := c.cancel
	if cancel == nil && c.cause == nil {
		c.cause = cause
	}
	c.mu.Unlock()
	if cancel != nil {
		cancel(cause) // runs the functions that wait for it
	}
}
