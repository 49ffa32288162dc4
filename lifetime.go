package distlock

import (
	"context"
	"hash/maphash"
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
	n        int             // acquisitions and leases in progress
	cleaning int             // clean-up in progress
	leases   [buckets]*Lease // leases whose context can be cancelled
	closed   bool
	seed     maphash.Seed
}

// buckets is the number of lists of leases. All leases of a key are in one list, so that
// a waiter that gives up can be told how long the holder has had the key. These are
// lists, not a map of keys, because every acquisition adds and removes a lease, and few
// callers search.
const buckets = 1024

// listNode is a lease's place in a list of a lifetime.
type listNode struct {
	prev, next *Lease
	bucket     uint16
	listed     bool
}

func newLifetime() *lifetime {
	ctx, end := context.WithCancel(context.Background()) //nolint:forbidigo // belongs to no call: ended by close
	return &lifetime{ctx: ctx, end: end, idle: make(chan struct{}), clean: make(chan struct{}), seed: maphash.MakeSeed()}
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

// bucket returns the number of the list with the leases of a key.
func (l *lifetime) bucket(key string) uint16 {
	return uint16(maphash.String(l.seed, key) % buckets)
}

// register arranges that the context of the lease, which is for the key, is cancelled when the
// lifetime ends, unless the lifetime is over already.
func (l *lifetime) register(lease *Lease, key string) bool {
	b := l.bucket(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	first := l.leases[b]
	lease.node = listNode{next: first, bucket: b, listed: true}
	if first != nil {
		first.node.prev = lease
	}
	l.leases[b] = lease
	return true
}

// holder returns the lease that has the key, or nil if no lease here has it. If there
// are several, it returns the oldest. A lease that is being released counts only if
// there is no other.
func (l *lifetime) holder(key string) *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *Lease
	for s := l.leases[l.bucket(key)]; s != nil; s = s.node.next {
		switch {
		case !s.acquired.Load() || s.Key() != key:
		case found == nil || found.ended.Load():
			found = s
		case !s.ended.Load() && s.assigned.Since.Before(found.assigned.Since):
			found = s
		}
	}
	return found
}

// all returns the leases whose context can be cancelled. The caller holds the mutex.
func (l *lifetime) all() (leases []*Lease) {
	for _, s := range &l.leases {
		for ; s != nil; s = s.node.next {
			leases = append(leases, s)
		}
	}
	return leases
}

// done is called once for each begin, with the lease that came of it or nil.
func (l *lifetime) done(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lease != nil && lease.node.listed {
		l.unlist(lease)
	}
	l.n--
	l.signal()
}

func (l *lifetime) unlist(lease *Lease) {
	m := lease.node
	if m.prev == nil {
		l.leases[m.bucket] = m.next
	} else {
		m.prev.node.next = m.next
	}
	if m.next != nil {
		m.next.node.prev = m.prev
	}
	lease.node = listNode{}
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
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-l.ctx.Done():
	}
	return false
}

// close ends the lifetime and its ctx, and returns the leases in progress. It
// returns false if that was done before.
func (l *lifetime) close() ([]*Lease, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false
	}
	l.closed = true
	l.end()
	l.signal()
	return l.all(), true
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
