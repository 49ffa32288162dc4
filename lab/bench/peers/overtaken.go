package main

import (
	"context"
	"sync"
	"sync/atomic"
)

// arrivals records the order in which callers came to wait for a lock and got it.
type arrivals struct {
	come, granted atomic.Int64
	number        []int32 // of the caller with the n-th grant, in the order of arrival
}

func newArrivals(most int) *arrivals { return &arrivals{number: make([]int32, most)} }

// arriving is the context of one acquisition. The first call of Done numbers it: a
// caller looks at Done when it begins to wait. The number stays when the caller looks
// again, because its place in the queue stays, too. A number assigned before the request
// would not mean much: a goroutine can lose its CPU before it joins the queue, for as
// long as a thousand others take for their turns.
type arriving struct {
	context.Context //nolint:containedctx // it is one
	arrivals        *arrivals
	once            sync.Once
	number          int32
}

// arriving returns the context of a caller that is about to ask for the lock.
func (a *arrivals) arriving(ctx context.Context) *arriving {
	return &arriving{Context: ctx, arrivals: a}
}

// Done implements context.Context.
func (a *arriving) Done() <-chan struct{} {
	a.arrive()
	return a.Context.Done()
}

// arrive returns the number of the acquisition. The first call assigns it.
func (a *arriving) arrive() int32 {
	a.once.Do(func() { a.number = int32(a.arrivals.come.Add(1) - 1) })
	return a.number
}

// grant records that a caller has got the lock. A caller that never called Done did not
// wait and arrives now, so it was not overtaken.
func (a *arrivals) grant(by *arriving) {
	number := by.arrive()
	if n := a.granted.Add(1) - 1; int(n) < len(a.number) {
		atomic.StoreInt32(&a.number[n], number)
	}
}

// overtaken counts the waiters that were overtaken: a caller that arrived later got the
// lock first.
type overtaken struct {
	Waits int64 // all
	Some  int64 // waits with at least one overtaker
	Most  int64 // the maximum number of overtakers
}

func (o *overtaken) merge(p overtaken) {
	o.Waits += p.Waits
	o.Some += p.Some
	o.Most = max(o.Most, p.Most)
}

// count evaluates the record. For each grant it counts the earlier grants with higher
// numbers.
func (a *arrivals) count() overtaken {
	n := min(int(a.granted.Load()), len(a.number))
	o := overtaken{Waits: int64(n)}
	seen := newCounts(int(a.come.Load()))
	for before, number := range a.number[:n] {
		by := int64(before) - seen.upTo(int(number))
		seen.add(int(number))
		if by > 0 {
			o.Some++
		}
		o.Most = max(o.Most, by)
	}
	return o
}

// counts is a Fenwick tree: prefix sums and updates take logarithmic time.
type counts []int32

func newCounts(n int) counts { return make(counts, n+1) }

func (c counts) add(i int) {
	for i++; i < len(c); i += i & -i {
		c[i]++
	}
}

// upTo returns how often add was called with a number up to i.
func (c counts) upTo(i int) (n int64) {
	for i++; i > 0; i -= i & -i {
		n += int64(c[i])
	}
	return n
}
