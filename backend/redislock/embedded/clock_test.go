package embedded

import (
	"testing"
	"time"
)

// A single delayed advance does not make advances rare, and leases inexact; many slow
// ones do.
func TestClockIsNotMisledByOnePause(t *testing.T) {
	t.Parallel()
	c := newClock(nil)
	for range 100 {
		c.took(5 * time.Microsecond)
	}
	c.took(50 * time.Millisecond)
	if c.step != minStep {
		t.Errorf("after one pause a step is %v, want %v", c.step, minStep)
	}
	c.took(5 * time.Microsecond)
	for range 20 {
		c.took(time.Millisecond)
	}
	if c.step != share*time.Millisecond {
		t.Errorf("with moves of 1ms a step is %v, want %v", c.step, share*time.Millisecond)
	}
}
