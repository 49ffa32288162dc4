package torture

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/child"
)

// store is the servers of the backend.
type store interface {
	addrs() []string
	server(i int) *child.Server // it has its data after a restart

	// left returns data that a lock should not leave behind.
	left(keys int) ([]string, error)
}

// insist repeats a request of the administrator until it succeeds: after an earlier fault
// its connection may be broken, or a new leader not be ready. A repetition must not fail
// because an earlier request was applied. A client waits for longer after each connection
// that it does not get.
func insist(tb testing.TB, f func(ctx context.Context) error) {
	tb.Helper()
	var err error
	for start := time.Now(); time.Since(start) < 2*time.Minute; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		err = f(ctx)
		cancel()
		if err == nil {
			return
		}
	}
	tb.Fatal(err)
}
