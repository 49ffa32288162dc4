package distlock

import (
	"context"
	"sync"
	"time"
)

// detached is a context with the values of its parent, that ends not with the
// parent but after a time of its own: what releases run on. Unlike
// [context.WithTimeout] it costs no timer unless somebody asks for Done, and a
// store in memory never does.
type detached struct {
	parent   context.Context //nolint:containedctx // for its values
	deadline time.Time

	mu    sync.Mutex
	inner context.Context //nolint:containedctx // made when Done is asked for
	stop  context.CancelFunc
}

func detach(parent context.Context, timeout time.Duration) *detached {
	return &detached{parent: parent, deadline: time.Now().Add(timeout)}
}

// Deadline returns the end of the context's own time.
func (d *detached) Deadline() (time.Time, bool) { return d.deadline, true }

// Done returns a channel that is closed at the deadline.
func (d *detached) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner == nil {
		d.inner, d.stop = context.WithDeadline(context.WithoutCancel(d.parent), d.deadline)
	}
	return d.inner.Done()
}

// Err returns [context.DeadlineExceeded] after the deadline.
func (d *detached) Err() error {
	if inner := d.made(); inner != nil {
		return inner.Err()
	}
	if time.Now().Before(d.deadline) {
		return nil
	}
	return context.DeadlineExceeded
}

// Value asks the context behind Done if there is one, so that package context
// knows it for one of its own and needs no goroutine to follow it.
func (d *detached) Value(key any) any {
	if inner := d.made(); inner != nil {
		return inner.Value(key)
	}
	return context.WithoutCancel(d.parent).Value(key)
}

func (d *detached) made() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inner
}

// end frees what Done has made.
func (d *detached) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		d.stop()
	}
}
