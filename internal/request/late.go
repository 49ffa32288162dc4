package request

import (
	"context"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

// End is the end of a handler. Work that it leaves behind, such as a goroutine after a timeout,
// goes on without the lock.
type End struct {
	over atomic.Bool
	late func() // tells the operator
}

// NewEnd returns the end of a handler. late is called for each sign of work after it, perhaps
// concurrently.
func NewEnd(late func()) *End { return &End{late: late} }

// Check calls late if the handler has returned.
func (e *End) Check() {
	if e.over.Load() {
		e.late()
	}
}

// watched is the context of a handler. Whoever asks it for a lease runs under the lock, or
// should: a goroutine that may outlive the handler has a context of [distlock.Detach].
type watched struct {
	context.Context //nolint:containedctx // is that context, and sees its use
	end             *End
}

// Value implements [context.Context].
func (c watched) Value(key any) any {
	v := c.Context.Value(key)
	if _, ok := v.(*distlock.Lease); ok {
		c.end.Check()
	}
	return v
}
