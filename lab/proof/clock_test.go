package proof_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/redistest"
)

// startClocked starts a redis-server with a clock, and returns a function that sets the
// clock to the true time plus d.
func startClocked(t *testing.T) (s *store, set func(d time.Duration)) {
	t.Helper()
	c := redistest.NewClock(t)
	return startRedis(t, "redislock", 1, c.Start), func(d time.Duration) {
		t.Helper()
		c.Set(t, d)
	}
}
