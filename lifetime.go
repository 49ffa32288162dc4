package distlock

import (
	"context"
	"sync"
)

// lifetime knows what a Locker has under way: the leases that are waited for or
// held, and the clean-up that outlives them. Once closed it lets nobody else in
// and tells when the last has left.
type lifetime struct {
	ctx  context.Context //nolint:containedctx // ends when nobody else is let in
	end  context.CancelFunc
	idle chan struct{} // closed when, after that, nothing is under way

	mu       sync.Mutex
	leases   map[*Lease]struct{}
	cleanups int
	closed   bool
}

func newLifetime() *lifetime {
	ctx, end := context.WithCancel(context.Background()) //nolint:forbidigo // belongs to no call: ended by close
	return &lifetime{ctx: ctx, end: end, idle: make(chan struct{}), leases: make(map[*Lease]struct{})}
}

// enter lets s in, unless the lifetime is over.
func (l *lifetime) enter(s *Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.leases[s] = struct{}{}
	return true
}

func (l *lifetime) exit(s *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.leases, s)
	l.report()
}

// cleanup runs f in the background as something under way. Only who is let in
// may call it.
func (l *lifetime) cleanup(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cleanups++
	go func() {
		f()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.cleanups--
		l.report()
	}()
}

// close ends the lifetime and its ctx, and returns the leases under way. It
// returns false if that was done before.
func (l *lifetime) close() ([]*Lease, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false
	}
	l.closed = true
	l.end()
	leases := make([]*Lease, 0, len(l.leases))
	for s := range l.leases {
		leases = append(leases, s)
	}
	l.report()
	return leases, true
}

// report closes idle when the last has left a closed lifetime.
func (l *lifetime) report() {
	if !l.closed || len(l.leases) > 0 || l.cleanups > 0 {
		return
	}
	select {
	case <-l.idle: // somebody who was forced out may leave later
	default:
		close(l.idle)
	}
}
