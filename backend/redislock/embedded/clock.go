package embedded

import (
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clock advances the leases of a miniredis, just before a command reads them, by the
// time that has really passed. So there is no drift, and no goroutine that runs while
// nothing happens.
//
// A lease that was written between two advances is shortened by the whole time between
// them. That time is kept below step, which is less than the safety margin of leases,
// as long as there are few keys; an advance takes time for each key, so with many keys
// advances become rarer.
type clock struct {
	mini *miniredis.Miniredis

	mu   sync.Mutex
	at   time.Time     // time of the last advance
	cost time.Duration // duration of an advance
	step time.Duration // shortest time between two advances
}

const (
	minStep = 100 * time.Microsecond
	maxStep = 20 * time.Millisecond
	// Advances take at most one part in share of the time.
	share = 3
)

func newClock(m *miniredis.Miniredis) *clock {
	return &clock{mini: m, at: time.Now(), step: minStep}
}

// advance advances the leases to now.
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

// took records the duration of an advance. It lets the cost at most double: a single
// advance that the scheduler delayed must not make the next leases end early.
func (c *clock) took(d time.Duration) {
	c.cost = min(d, 2*max(c.cost, time.Microsecond))
	c.step = min(max(share*c.cost, minStep), maxStep)
}
