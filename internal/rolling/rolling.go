// Package rolling has a timeout for many short operations that does not need a timer
// for each. Setting and stopping a timer for every call to a nearby server is a large
// part of the cost of the call, because it wakes the scheduler's poller.
package rolling

import (
	"context"
	"sync/atomic"
	"time"
)

// Timeout returns contexts that end after a limit, or up to a quarter of the limit
// earlier. Operations that begin in the same quarter share a timer. It is safe for
// concurrent use.
type Timeout struct {
	limit   time.Duration
	present atomic.Pointer[shared] // nil before the first operation
}

// shared is the context of the operations that begin in the same quarter of the limit.
type shared struct {
	context.Context //nolint:containedctx // a context is what is shared

	born time.Time
}

// New returns a Timeout with that limit.
func New(limit time.Duration) *Timeout { return &Timeout{limit: limit} }

// Context returns a context for an operation that begins now, with the values of parent, without
// its cancellation and deadline.
func (t *Timeout) Context(parent context.Context, now time.Time) context.Context {
	return &rolling{Context: t.current(now), parent: parent}
}

func (t *Timeout) current(now time.Time) context.Context {
	if s := t.present.Load(); s != nil && now.Sub(s.born) < t.limit/4 {
		return s.Context
	}
	// Do not cancel the previous context, because operations still use it. It ends by itself.
	ctx, cancel := context.WithTimeout(context.Background(), t.limit) //nolint:forbidigo // shared by many callers
	context.AfterFunc(ctx, cancel)
	t.present.Store(&shared{ctx, now})
	return ctx
}

type rolling struct {
	context.Context //nolint:containedctx // the shared one

	parent context.Context //nolint:containedctx // for its values
}

// Value asks the shared context first. It has no values except those by which package
// context recognises its own cancellable contexts.
func (r *rolling) Value(key any) any {
	if v := r.Context.Value(key); v != nil {
		return v
	}
	return context.WithoutCancel(r.parent).Value(key)
}

// Within returns a context that ends with ctx, or after the limit because of the cause. It is
// ctx itself if that has an earlier deadline.
func Within(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= limit {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, cause)
}
