package main

import (
	"context"
	"sync/atomic"
)

// arrivals records in which order those who wait for a lock came and got it.
type arrivals struct {
	come, granted atomic.Int64
	number        []int32 // of the one who got the n-th grant, as they came
}

func newArrivals(most int) *arrivals { return &arrivals{number: make([]int32, most)} }

// arriving is the context of one who asks for a lock. Each look at Done gives it
// a new number, so that it keeps that of the last look before it waited. A number
// from before the call would say little: between that and the place in line a
// goroutine may lose its CPU for as long as a thousand others take for their
// turns.
type arriving struct {
	context.Context //nolint:containedctx // it is one
	arrivals        *arrivals
	number          int32
}

// unnumbered is the number of a caller that has not looked at Done.
const unnumbered = -1

// arriving returns the context of a caller that is about to ask for the lock.
func (a *arrivals) arriving(ctx context.Context) arriving {
	return arriving{Context: ctx, arrivals: a, number: unnumbered}
}

// Done implements context.Context.
func (a *arriving) Done() <-chan struct{} {
	a.number = a.arrivals.next()
	return a.Context.Done()
}

// next returns the number of a caller that arrives now.
func (a *arrivals) next() int32 { return int32(a.come.Add(1) - 1) }

// grant records that a caller has got the lock. A caller that never looked at Done did
// not wait and arrived just now: nobody has overtaken it.
func (a *arrivals) grant(by *arriving) {
	number := by.number
	if number == unnumbered {
		number = a.next()
	}
	if n := a.granted.Add(1) - 1; int(n) < len(a.number) {
		atomic.StoreInt32(&a.number[n], number)
	}
}

// overtaken says how many of those who waited saw others get the lock who had
// come after them.
type overtaken struct {
	Waits int64 // all
	Some  int64 // those that were overtaken at all
	Most  int64 // by how many, at most
}

func (o *overtaken) merge(p overtaken) {
	o.Waits += p.Waits
	o.Some += p.Some
	o.Most = max(o.Most, p.Most)
}

// count is what was recorded. It counts, for each grant, the earlier ones with
// higher numbers.
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

// counts is a Fenwick tree: sums of prefixes, and changes, in logarithmic time.
type counts []int32

func newCounts(n int) counts { return make(counts, n+1) }

func (c counts) add(i int) {
	for i++; i < len(c); i += i & -i {
		c[i]++
	}
}

// upTo returns how often add was called with i or less.
func (c counts) upTo(i int) (n int64) {
	for i++; i > 0; i -= i & -i {
		n += int64(c[i])
	}
	return n
}
