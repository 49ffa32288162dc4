package distlock

import (
	"context"
	"sync"
)

// lifetime knows what a Locker has under way: acquisitions, leases, and the
// clean-up that outlives them. Once closed it lets nobody else in and tells when
// the last has left.
type lifetime struct {
	ctx   context.Context //nolint:containedctx // ends when nobody else is let in
	end   context.CancelFunc
	idle  chan struct{} // closed when, after that, nothing but clean-up is under way
	clean chan struct{} // closed when, after that, nothing at all is

	mu       sync.Mutex
	n        int    // acquisitions and leases under way
	cleaning int    // clean-up under way
	first    *Lease // of those that have a context to cancel
	closed   bool
}

// member is a lease's place in the list of a lifetime. A list, because every
// acquisition comes and goes.
type member struct {
	prev, next *Lease
	listed     bool
}

func newLifetime() *lifetime {
	ctx, end := context.WithCancel(context.Background()) //nolint:forbidigo // belongs to no call: ended by close
	return &lifetime{ctx: ctx, end: end, idle: make(chan struct{}), clean: make(chan struct{})}
}

// enter lets one in, unless the lifetime is over.
func (l *lifetime) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.n++
	return true
}

// register has the context of s cancelled when the lifetime ends, unless it is
// over already.
func (l *lifetime) register(s *Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	s.member = member{next: l.first, listed: true}
	if l.first != nil {
		l.first.member.prev = s
	}
	l.first = s
	return true
}

// exit is called by whoever was let in, with the lease that came of it or nil.
func (l *lifetime) exit(s *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s != nil && s.member.listed {
		l.unlist(s)
	}
	l.n--
	l.tell()
}

func (l *lifetime) unlist(s *Lease) {
	m := s.member
	if m.prev == nil {
		l.first = m.next
	} else {
		m.prev.member.next = m.next
	}
	if m.next != nil {
		m.next.member.prev = m.prev
	}
	s.member = member{}
}

// cleanup runs f in the background as clean-up under way. Only who is let in may
// call it.
func (l *lifetime) cleanup(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cleaning++
	go func() {
		defer func() { // also if f is a hook that exits
			l.mu.Lock()
			defer l.mu.Unlock()
			l.cleaning--
			l.tell()
		}()
		f()
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
	var leases []*Lease
	for s := l.first; s != nil; s = s.member.next {
		leases = append(leases, s)
	}
	l.tell()
	return leases, true
}

// tell closes what tells that less is under way, once each: those who were forced
// out may clean up later. The caller has the mutex.
func (l *lifetime) tell() {
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
