package redistest

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Sleep stops the whole server for d. The returned channel is closed when the server
// runs again.
func (s *Server) Sleep(tb testing.TB, d time.Duration) <-chan struct{} {
	tb.Helper()
	c := s.Client(tb, func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = -1, d+time.Minute })
	must(tb, c.Ping(tb.Context()).Err())
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
	return s.number(tb, "\n"+name+":")
}

// ErrorStat returns how often the server has answered with the named error, such as
// MOVED, ASK or TRYAGAIN.
func (s *Server) ErrorStat(tb testing.TB, name string) int {
	tb.Helper()
	return s.number(tb, "\nerrorstat_"+name+":count=")
}

// number returns the number in INFO that follows the text, or 0.
func (s *Server) number(tb testing.TB, text string) int {
	tb.Helper()
	info, err := s.admin().Info(tb.Context(), "everything").Result()
	must(tb, err)
	_, rest, _ := strings.Cut(info, text)
	digits := strings.TrimRightFunc(rest[:strings.IndexAny(rest+"\r", "\r,")], func(r rune) bool { return r < '0' || r > '9' })
	n, _ := strconv.Atoi(digits)
	return n
}
