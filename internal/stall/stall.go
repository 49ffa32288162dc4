// Package stall tells for how long a process has stood still, because it was stopped
// or the machine had no time for it: then whatever it had to do in time came late, and
// no code is to blame. Only tests use it.
package stall

import (
	"sync"
	"time"
)

const beat = 5 * time.Millisecond

// Watch is a look at the clock, again and again.
type Watch struct {
	mu    sync.Mutex
	last  time.Time
	total time.Duration
}

// Test is what is needed of a testing.TB.
type Test interface{ Cleanup(f func()) }

// Start begins to watch, until the test ends.
func Start(tb Test) *Watch {
	w := &Watch{last: time.Now()}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				w.look()
			}
		}
	}()
	tb.Cleanup(func() {
		close(done)
		<-stopped
	})
	return w
}

// look returns for how long the process has stood still in all.
func (w *Watch) look() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if d := now.Sub(w.last) - beat; d > beat {
		w.total += d
	}
	w.last = now
	return w.total
}

// Excuses reports whether something may be so late because the process has stood
// still: once, or before each of several steps.
func (w *Watch) Excuses(late time.Duration) bool { return late > beat && w.look() > late/2 }
