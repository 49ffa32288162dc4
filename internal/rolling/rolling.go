// Package rolling has a timeout for very many short operations that costs no
// timer for each: a timer that is set and stopped for every call to a server
// nearby takes longer than much else about the call, because it wakes the
// scheduler's poller.
package rolling

import (
	"context"
	"sync"
	"time"
)

// Timeout hands out contexts that end after a limit, or up to a quarter of it
// before. Operations that begin in the same quarter share one. It is safe for
// concurrent use.
type Timeout struct {
	limit time.Duration

	mu     sync.Mutex
	shared context.Context //nolint:containedctx // what it is for
	born   time.Time
}

// New returns a Timeout with that limit.
func New(limit time.Duration) *Timeout { return &Timeout{limit: limit} }

// Context returns a context with the values of parent, but neither its
// cancellation nor its deadline.
func (t *Timeout) Context(parent context.Context) context.Context {
	return &rolling{Context: t.current(), parent: parent}
}

func (t *Timeout) current() context.Context {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared == nil || now.Sub(t.born) >= t.limit/4 {
		// The one before is not cancelled: operations go on under it. Each ends by
		// itself.
		ctx, cancel := context.WithTimeout(context.Background(), t.limit) //nolint:forbidigo // shared by many callers
		context.AfterFunc(ctx, cancel)
		t.shared = ctx
		t.born = now
	}
	return t.shared
}

type rolling struct {
	context.Context //nolint:containedctx // it is one

	parent context.Context //nolint:containedctx // for its values
}

// Value asks the shared context first, which has none but its own means to be
// cancelled, so that package context knows it for one of its own.
func (r *rolling) Value(key any) any {
	if v := r.Context.Value(key); v != nil {
		return v
	}
	return context.WithoutCancel(r.parent).Value(key)
}
