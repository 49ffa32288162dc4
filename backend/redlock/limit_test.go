package redlock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redlock"
)

// A time that the nodes cannot keep is refused before anything runs: otherwise a job
// with MinHold would run twice in its period.
func TestLimit(t *testing.T) {
	t.Parallel()
	l := distlock.New(newBackend(t, unreachable(t, 3), redlock.WithNodeTimeout(time.Millisecond)), distlock.Config{})
	defer l.Close()
	for want, o := range map[string]distlock.Opts{
		"MinHold is 10m0s":   {MinHold: 10 * time.Minute},
		"KeyTimeout is 2m0s": {KeyTimeout: 2 * time.Minute},
	} {
		_, err := l.Acquire(t.Context(), "k", o)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "1m0s") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// unreachable returns clients of nodes that do not exist.
func unreachable(tb testing.TB, n int) []redis.UniversalClient {
	tb.Helper()
	var cs []redis.UniversalClient
	for range n {
		c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0"})
		tb.Cleanup(func() { _ = c.Close() })
		cs = append(cs, c)
	}
	return cs
}
