package distlock

import (
	"context"
	"sync"
)

// lifetime counts what a Locker has under way, refuses more once it is closed,
// and tells when the last has ended.
type lifetime struct {
	ctx  context.Context //nolint:containedctx // ends when no more is let in
	end  context.CancelFunc
	idle chan struct{} // closed when, after that, nothing is under way

	mu     sync.Mutex
	n      int
	closed bool
}

func newLifetime() *lifetime {
	ctx, end := context.WithCancel(context.Background()) //nolint:forbidigo // belongs to no call: ended by close
	return &lifetime{ctx: ctx, end: end, idle: make(chan struct{})}
}

// enter counts one more, unless the lifetime is over.
func (l *lifetime) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.n++
	return true
}

// also counts one more for somebody who is counted already, and so may still
// begin what must follow.
func (l *lifetime) also() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
}

func (l *lifetime) exit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.closed && l.n == 0 {
		close(l.idle)
	}
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
	if l.n == 0 {
		close(l.idle)
	}
	return true
}
