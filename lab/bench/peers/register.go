package main

import (
	"sync/atomic"
	"time"
)

// maxProcs is how many processes a register can distinguish.
const maxProcs = 8

// register checks every grant of one key, in any process. It is in memory that the
// processes share, so it depends neither on the lock nor on what a process assumes.
//
// A holder calls enter after it has got the lock, and leave before it releases the
// lock. So there must be one holder at a time, and tokens must rise. The register
// counts violations. All processes use the machine's clock.
type register struct {
	_          cacheLine // keeps fields that change together in one cache line
	inside     atomic.Int64
	last       atomic.Uint64 // token
	overlaps   atomic.Int64  // grants while the lock had a holder
	backwards  atomic.Int64  // grants with a token that did not rise
	enteredAt  atomic.Int64  // by the current holder
	leftAt     atomic.Int64  // by the last holder
	leftBy     atomic.Int64  // 1 + process of the last holder
	held       atomic.Int64  // total time with a holder
	firstEntry atomic.Int64
	_          cacheLine
	grants     [maxProcs]struct {
		n atomic.Int64
		_ cacheLine
	}
}

type cacheLine [64]byte

// handOver describes the transition from the previous holder.
type handOver struct {
	after time.Duration // since the previous holder left
	other bool          // the previous holder was in another process
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

// leave records that process p is about to release the lock.
func (r *register) leave(p int, now time.Time) {
	at := now.UnixNano()
	r.held.Add(at - r.enteredAt.Load())
	r.leftBy.Store(int64(p + 1))
	r.leftAt.Store(at)
	r.inside.Add(-1)
}

// begin resets times and counts, but neither violations nor the last token. The caller
// makes sure that the lock has no holder and that no old holder will call enter or
// leave.
func (r *register) begin() {
	r.inside.Store(0)
	r.leftBy.Store(0)
	r.held.Store(0)
	r.firstEntry.Store(0)
	for i := range r.grants {
		r.grants[i].n.Store(0)
	}
}

// shares returns the number of grants of each of the first n processes.
func (r *register) shares(n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = r.grants[i].n.Load()
	}
	return s
}

// utilisation returns how long the lock was held, and the time from the first grant to
// the last leave.
func (r *register) utilisation() (held, span time.Duration) {
	return time.Duration(r.held.Load()), time.Duration(r.leftAt.Load() - r.firstEntry.Load())
}

// violations returns how often two callers had the lock, and how often a token did not
// rise.
func (r *register) violations() (overlaps, backwards int64) {
	return r.overlaps.Load(), r.backwards.Load()
}
