package redistest

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Clock is the wall clock of real servers. It can be set while they run.
type Clock struct {
	clock   *child.Clock
	servers []*Server
}

// NewClock returns a clock that shows the true time. Without a C compiler the test is
// skipped.
func NewClock(tb testing.TB) *Clock {
	tb.Helper()
	clock, err := child.NewClock(tb.TempDir())
	child.Need(tb, err)
	return &Clock{clock: clock}
}

// Start is like the function [Start], for a server that uses this clock.
func (c *Clock) Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := launch(tb, &Server{args: args, env: c.clock.Env()}, "")
	c.servers = append(c.servers, s)
	return s
}

// Stop makes the clock stand still, until Set moves it.
func (c *Clock) Stop(tb testing.TB) {
	tb.Helper()
	must(tb, c.clock.Stop())
}

// Set sets the clock to the true time plus d, or to the time at which it stands plus d.
func (c *Clock) Set(tb testing.TB, d time.Duration) {
	tb.Helper()
	must(tb, c.clock.Set(d))
	for _, s := range c.servers {
		now, err := s.admin().Time(tb.Context()).Result()
		if got := time.Until(now); err != nil || (got-d).Abs() > 10*time.Minute {
			tb.Fatalf("the server's clock is %v ahead, not %v: %v", got, d, err)
		}
	}
}
