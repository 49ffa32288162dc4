package torture

import (
	"sync"
	"time"
)

// serverClock is the clock of the server. Its rate can differ from that of the processes.
type serverClock struct {
	mu    sync.Mutex
	base  time.Time // what it showed at the time since
	since time.Time
	rate  float64
}

func newServerClock() *serverClock {
	return &serverClock{base: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), since: time.Now(), rate: 1}
}

func (c *serverClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(time.Duration(float64(time.Since(c.since)) * c.rate))
}

func (c *serverClock) setRate(r float64) {
	t := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.since, c.rate = t, time.Now(), r
}

// set moves the clock by d.
func (c *serverClock) set(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base = c.base.Add(d)
}
