package redistest

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Pause makes the server delay writes and scripts until the returned function is called
// or d has passed. Other commands are answered at once.
func (s *Server) Pause(tb testing.TB, d time.Duration) (end func()) {
	tb.Helper()
	c := s.Client(tb)
	if err := c.Do(tb.Context(), "client", "pause", d.Milliseconds(), "write").Err(); err != nil {
		tb.Fatal(err)
	}
	end = sync.OnceFunc(func() { c.ClientUnpause(context.Background()) })
	tb.Cleanup(end)
	return end
}

// Sleep stops the whole server for d. The returned channel is closed when the server
// runs again.
func (s *Server) Sleep(tb testing.TB, d time.Duration) <-chan struct{} {
	tb.Helper()
	c := s.Client(tb, func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = -1, d+time.Minute })
	if err := c.Ping(tb.Context()).Err(); err != nil {
		tb.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := c.Do(context.Background(), "debug", "sleep", d.Seconds()).Err(); err != nil {
			tb.Errorf("DEBUG SLEEP: %v", err)
		}
	}()
	tb.Cleanup(func() { <-over })
	return over
}

// Stat returns a number from INFO, or 0 if INFO has no such field.
func (s *Server) Stat(tb testing.TB, name string) int {
	tb.Helper()
	c := s.Client(tb)
	defer c.Close() //nolint:errcheck // nothing is lost
	info, err := c.Info(tb.Context()).Result()
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "\n"+name+":")
	digits, _, _ := strings.Cut(rest, "\r")
	n, _ := strconv.Atoi(digits)
	return n
}
