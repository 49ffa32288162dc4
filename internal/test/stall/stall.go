// Package stall measures how long a process stood still because it was stopped or
// because the machine was busy. Deadlines missed meanwhile are not the fault of the
// code. Only tests use it.
package stall

import (
	"sync"
	"time"
)

const beat = 5 * time.Millisecond

// Watch measures how long the process stood still.
type Watch struct {
	mu    sync.Mutex
	last  time.Time
	total time.Duration
}

// Test is the part of testing.TB that Start needs.
type Test interface{ Cleanup(f func()) }

// Start starts a Watch that ends with the test.
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

// look returns how long the process stood still in total.
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

// Excuses reports whether the process stood still long enough to explain that something
// is late, in one step or in several.
func (w *Watch) Excuses(late time.Duration) bool { return late > beat && w.look() > late/2 }
