package proof_test

import (
	"sync"
	"testing"
	"time"
)

const beat = 5 * time.Millisecond

// stalls measures how long this process stood still because it was stopped or because the
// machine was busy. Deadlines missed meanwhile are not the fault of the code.
type stalls struct {
	mu    sync.Mutex
	last  time.Time
	total time.Duration
}

// watchStalls measures until the test ends.
func watchStalls(t *testing.T) *stalls {
	t.Helper()
	s := &stalls{last: time.Now()}
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
				s.look()
			}
		}
	}()
	t.Cleanup(func() {
		close(done)
		<-stopped
	})
	return s
}

// look returns how long the process stood still in total.
func (s *stalls) look() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if d := now.Sub(s.last) - beat; d > beat {
		s.total += d
	}
	s.last = now
	return s.total
}

// excuse reports whether the process stood still long enough to explain that something
// is late, in one step or in several.
func (s *stalls) excuse(late time.Duration) bool { return late > beat && s.look() > late/2 }
