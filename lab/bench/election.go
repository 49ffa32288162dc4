package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// election is the record of a run with -lockers: who led, in which order, and how long.
type election struct {
	out io.Writer

	mu    sync.Mutex
	began []time.Time // when each locker last asked for the lock
	terms []term
}

// term is the time for which a locker leads.
type term struct {
	locker int
	asked  time.Time
	hold   time.Duration // that it has drawn
}

func newElection(lockers int, out io.Writer) *election {
	return &election{out: out, began: make([]time.Time, lockers)}
}

// ask notes that a locker asks for the lock.
func (e *election) ask(locker int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.began[locker] = time.Now()
}

// lead prints that a locker has the lock. The lock, and not this mutex, makes the order.
func (e *election) lead(locker int, hold time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	asked, before := e.began[locker], "nobody"
	if n := len(e.terms); n > 0 {
		before = lockerName(e.terms[n-1].locker)
	}
	e.terms = append(e.terms, term{locker, asked, hold})
	_, _ = fmt.Fprintf(e.out, "%s: now I lead for %s ms; I waited %s ms, for %s\n", lockerName(locker), ms(hold), ms(time.Since(asked)), before)
}

// ideal returns the samples of a lock that passes on at once: the same lockers, in the same
// order, with the same holds.
func (e *election) ideal() []sample {
	var samples []sample
	var free time.Time // when the term before ended
	for _, t := range e.terms {
		if free.Before(t.asked) {
			free = t.asked
		}
		free = free.Add(t.hold)
		samples = append(samples, sample{user: t.locker, start: t.asked, elapsed: free.Sub(t.asked)})
	}
	return samples
}

// lockerName returns the name that a locker has in the store.
func lockerName(i int) string { return fmt.Sprintf("locker-%02d", i+1) }
