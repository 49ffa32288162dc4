package main

import (
	"errors"
	"slices"
	"time"
)

// turn is what a process did in an order, and what all processes of a peer did in a turn or
// in a round.
type turn struct {
	Locks    int64 // acquired and released
	Elapsed  time.Duration
	Finished bool          // all goroutines did what the orders say
	Client   time.Duration // CPU time of the processes
	Server   time.Duration // CPU time of Redis
	Full     spread        // of the last order: the waits that began and ended while all goroutines were waiting
	Callers  []spread      // of the last order, with task.Hold: the waits of each goroutine
	Bulk     map[string]float64
	Moves    []move          // of the last order, with task.Turns
	Passed   []time.Duration // how long hand-overs took, or round trips
	Problems []string
}

// beside adds what another goroutine or process did at the same time.
func (t *turn) beside(o turn) {
	elapsed := max(t.Elapsed, o.Elapsed)
	o.Full.add(t.Full)
	o.Moves, o.Callers = slices.Concat(t.Moves, o.Moves), slices.Concat(t.Callers, o.Callers)
	t.then(o)
	t.Elapsed = elapsed
}

// then adds what was done later.
func (t *turn) then(o turn) {
	t.Locks += o.Locks
	t.Elapsed += o.Elapsed
	t.Finished = t.Finished && o.Finished
	t.Client += o.Client
	t.Server += o.Server
	t.Full, t.Moves, t.Callers, t.Bulk = o.Full, o.Moves, o.Callers, o.Bulk
	t.Passed = append(t.Passed, o.Passed...)
	t.Problems = append(t.Problems, o.Problems...)
}

// spread summarises durations.
type spread struct {
	N        int64
	Sum, Max time.Duration
}

func (s *spread) add(o spread) {
	s.N += o.N
	s.Sum += o.Sum
	s.Max = max(s.Max, o.Max)
}

// move is the moment at which a process took the lock, or was about to give it back.
type move struct {
	At    int64 // nanoseconds since 1970
	Taken bool
	proc  int
}

var errTwoHolders = errors.New("two callers had the lock at once")

// handOvers returns how long it took from the start of an unlock in one process to the lock
// in another. All processes use the machine's clock.
func handOvers(moves []move) (times []time.Duration, err error) {
	slices.SortStableFunc(moves, func(a, b move) int { return int(a.At - b.At) })
	for i, m := range moves[min(1, len(moves)):] {
		last := moves[i]
		if m.Taken && last.Taken {
			return times, errTwoHolders
		}
		if m.Taken && m.proc != last.proc {
			times = append(times, time.Duration(m.At-last.At))
		}
	}
	return times, nil
}
