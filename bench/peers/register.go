package main

import (
	"sync/atomic"
	"time"
)

// maxProcs is how many processes a register can tell apart.
const maxProcs = 8

// register checks every grant of one key, whichever process it goes to. It lies
// in memory that the processes share, so it does not depend on what is measured,
// nor on what each process believes.
//
// Whoever gets the lock enters, and leaves before giving it back. Then one and
// only one is inside, and tokens rise from each to the next; what is not so is
// counted. The times are those of the machine's clock, which all share too.
type register struct {
	_          cacheLine // fields that change together stay together
	inside     atomic.Int64
	last       atomic.Uint64 // token
	overlaps   atomic.Int64  // two were inside
	backwards  atomic.Int64  // a token was not larger than the one before
	enteredAt  atomic.Int64  // by the one inside
	leftAt     atomic.Int64  // by the last one
	leftBy     atomic.Int64  // 1 + its process
	held       atomic.Int64  // how long somebody was inside, in all
	firstEntry atomic.Int64
	_          cacheLine
	grants     [maxProcs]struct {
		n atomic.Int64
		_ cacheLine
	}
}

type cacheLine [64]byte

// handOver is what enter tells of the passage from the holder before.
type handOver struct {
	after time.Duration // since that one left
	other bool          // it was in another process
}

// enter records a grant with this token to process p.
func (r *register) enter(p int, token uint64, now time.Time) handOver {
	if r.inside.Add(1) != 1 {
		r.overlaps.Add(1)
	}
	if token != 0 && r.last.Swap(token) >= token {
		r.backwards.Add(1)
	}
	r.grants[p].n.Add(1)
	at := now.UnixNano()
	r.enteredAt.Store(at)
	r.firstEntry.CompareAndSwap(0, at)
	by := r.leftBy.Load()
	return handOver{after: time.Duration(at - r.leftAt.Load()), other: by != 0 && by != int64(p+1)}
}

// leave records that process p is about to give the lock back.
func (r *register) leave(p int, now time.Time) {
	at := now.UnixNano()
	r.held.Add(at - r.enteredAt.Load())
	r.leftBy.Store(int64(p + 1))
	r.leftAt.Store(at)
	r.inside.Add(-1)
}

// begin forgets the times and counts of what was before, but neither violations
// nor the last token. Nobody is inside, or ever will be again, when it is called.
func (r *register) begin() {
	r.inside.Store(0)
	r.leftBy.Store(0)
	r.held.Store(0)
	r.firstEntry.Store(0)
	for i := range r.grants {
		r.grants[i].n.Store(0)
	}
}

// shares returns how many grants each of the first n processes got.
func (r *register) shares(n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = r.grants[i].n.Load()
	}
	return s
}

// utilisation returns for how long the lock was held, and how long that took
// from the first grant to the last time that somebody left.
func (r *register) utilisation() (held, span time.Duration) {
	return time.Duration(r.held.Load()), time.Duration(r.leftAt.Load() - r.firstEntry.Load())
}

// violations returns how often two had the lock, and how often a token did not
// rise.
func (r *register) violations() (overlaps, backwards int64) {
	return r.overlaps.Load(), r.backwards.Load()
}
