package embedded

import (
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clock moves the leases of a miniredis, just before a command looks at them:
// by the time that really passed, so that nothing drifts, and without a
// goroutine that turns while nothing happens.
//
// A lease that was written between two moves is charged from the earlier one,
// so it may end early by the time between them. That is kept below step, which
// is less than the margin that leases are trusted with, as long as there are few
// keys; moving costs time for each key, and with many the moves become rarer.
type clock struct {
	mini *miniredis.Miniredis

	mu   sync.Mutex
	at   time.Time     // up to when the leases were moved
	cost time.Duration // what a move takes
	step time.Duration // the least time between two moves
}

const (
	minStep = 100 * time.Microsecond
	maxStep = 20 * time.Millisecond
	// Moving takes at most one part in so many of the time.
	share = 3
)

func newClock(m *miniredis.Miniredis) *clock {
	return &clock{mini: m, at: time.Now(), step: minStep}
}

// advance moves the leases up to now.
func (c *clock) advance() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	d := now.Sub(c.at)
	if d < c.step {
		return
	}
	c.at = now
	c.mini.FastForward(d)
	c.took(time.Since(now))
}

// took notes what a move took. It believes in a growth of twice at the most:
// a single move that the scheduler held up must not make the next leases end
// early.
func (c *clock) took(d time.Duration) {
	c.cost = min(d, 2*max(c.cost, time.Microsecond))
	c.step = min(max(share*c.cost, minStep), maxStep)
}
