package distlock

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

// buckets is the number of lists of leases. All leases of a key are in one list, so that
// a waiter that gives up can be told how long the holder has had the key. These are
// lists, not a map of keys, because every acquisition adds and removes a lease, and few
// callers search.
const buckets = 1024

// listNode is a lease's place in a leaseList.
type listNode struct {
	prev, next *Lease
	bucket     uint16
}

// leaseList has the leases of a Locker whose contexts can be cancelled.
type leaseList struct {
	seed maphash.Seed

	mu    sync.Mutex
	first [buckets]*Lease
}

func (l *leaseList) init() { l.seed = maphash.MakeSeed() }

// bucket returns the number of the list with the leases of a key.
func (l *leaseList) bucket(key string) uint16 {
	return uint16(maphash.String(l.seed, key) % buckets)
}

// add adds a lease, which is for the key.
func (l *leaseList) add(lease *Lease, key string) {
	b := l.bucket(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.first[b]
	lease.node = listNode{next: first, bucket: b}
	if first != nil {
		first.node.prev = lease
	}
	l.first[b] = lease
}

// holder returns the lease that has the key, or nil if no lease here has it. If there
// are several, it returns the oldest. A lease that is being released counts only if
// there is no other.
func (l *leaseList) holder(key string) *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *Lease
	for s := l.first[l.bucket(key)]; s != nil; s = s.node.next {
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

// remove removes a lease that was added.
func (l *leaseList) remove(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := lease.node
	if m.prev == nil {
		l.first[m.bucket] = m.next
	} else {
		m.prev.node.next = m.next
	}
	if m.next != nil {
		m.next.node.prev = m.prev
	}
}

// all returns the leases.
func (l *leaseList) all() (leases []*Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range &l.first {
		for ; s != nil; s = s.node.next {
			leases = append(leases, s)
		}
	}
	return leases
}

// lingering returns since when functions run whose leases are over, by the key: for each key with
// the prefix the oldest.
func (l *leaseList) lingering(prefix string) map[string]time.Time {
	since := make(map[string]time.Time)
	for _, lease := range l.all() {
		if !lease.acquired.Load() || !strings.HasPrefix(lease.Key(), prefix) || !lease.lingers(time.Now()) {
			continue
		}
		if began := since[lease.Key()]; began.IsZero() || lease.assigned.Since.Before(began) {
			since[lease.Key()] = lease.assigned.Since
		}
	}
	return since
}
