package distlock

import (
	"context"
	"sync"
	"time"
)

// lifetime counts what a Locker has in progress: acquisitions, leases, and the clean-up that
// outlives them. When it is closed it accepts no more, and signals when the last has ended.
type lifetime struct {
	ctx   context.Context //nolint:containedctx // ends when no more work is accepted
	end   context.CancelFunc
	idle  chan struct{} // closed when, after that, nothing but clean-up is in progress
	clean chan struct{} // closed when, after that, nothing at all is

	mu       sync.Mutex
	n        int // acquisitions and leases in progress
	cleaning int // clean-up in progress
	closed   bool
}

func newLifetime() *lifetime {
	ctx, end := context.WithCancel(context.Background()) //nolint:forbidigo // belongs to no call: ended by close
	return &lifetime{ctx: ctx, end: end, idle: make(chan struct{}), clean: make(chan struct{})}
}

// begin counts one more acquisition or lease, unless the lifetime is over.
func (l *lifetime) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.n++
	return true
}

// done is called once for each begin.
func (l *lifetime) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	l.signal()
}

// background runs f in the background and counts it as clean-up in progress. Only a caller
// that has called begin, and not done, may call it.
func (l *lifetime) background(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cleaning++
	go func() {
		defer func() { // also if f is a hook that exits
			l.mu.Lock()
			defer l.mu.Unlock()
			l.cleaning--
			l.signal()
		}()
		f()
	}()
}

// sleep waits for d. It returns false if ctx ends or the lifetime is over first.
func (l *lifetime) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
	case <-l.ctx.Done():
	}
	return false
}

// close ends the lifetime and its ctx. It returns false if that was done before.
func (l *lifetime) close() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.closed = true
	l.end()
	l.signal()
	return true
}

// signal closes idle and clean when their condition holds, once each: leases that Close
// released may still need clean-up. The caller holds the mutex.
func (l *lifetime) signal() {
	if !l.closed || l.n > 0 {
		return
	}
	closeOnce(l.idle)
	if l.cleaning == 0 {
		closeOnce(l.clean)
	}
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}
