package redistest

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Clock is the wall clock of real servers. It can be set while they run.
type Clock struct {
	clock   *child.Clock
	stands  time.Time // zero if it does not
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
	c.stands = time.Now()
	must(tb, c.clock.Stop())
}

// Set sets the clock to the true time plus d, or to the time at which it stands plus d. It
// returns when each server shows that: Valkey 9 reads its clock once in a millisecond.
func (c *Clock) Set(tb testing.TB, d time.Duration) {
	tb.Helper()
	const late, patience = time.Millisecond, 10 * time.Second
	must(tb, c.clock.Set(d))
	for _, s := range c.servers {
		for begin := time.Now(); ; {
			from := time.Now()
			now, err := s.admin().Time(tb.Context()).Result()
			must(tb, err)
			to := time.Now()
			if !c.stands.IsZero() {
				from, to = c.stands, c.stands
			}
			if now.After(from.Add(d-late)) && now.Before(to.Add(d+late)) {
				break
			}
			if to := time.Now(); to.Sub(begin) > patience {
				tb.Fatalf("the server's clock is %v ahead, not %v", now.Sub(to), d)
			}
		}
	}
}
