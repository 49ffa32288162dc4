package proof_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// key is the key that all processes lock.
const key = "shop:order"

// longLease is a lease that does not expire during a test. It is the longest that redlock
// has by default.
const longLease = time.Minute

func await(tb testing.TB, what string, done <-chan struct{}) {
	tb.Helper()
	select {
	case <-done:
	case <-time.After(testkit.Patience):
		tb.Fatalf("it never happened: %s", what)
	}
}

func mustRelease(tb testing.TB, s *distlock.Lease) {
	tb.Helper()
	if err := s.Release(context.Background()); err != nil {
		tb.Fatalf("Release: %v", err)
	}
}

// inLine returns how many processes wait for the key, which is held, in the store's queue.
func inLine(tb testing.TB, l *distlock.Locker) int {
	tb.Helper()
	keys, err := admin.Inspect(context.Background(), l, key, 1)
	if err != nil || len(keys) != 1 || keys[0].Held != 1 {
		tb.Fatalf("%+v, %v", keys, err)
	}
	return keys[0].Waiting
}

func awaitLine(tb testing.TB, l *distlock.Locker, n int) {
	tb.Helper()
	testkit.Eventually(tb, fmt.Sprint(n, " wait in line"), func() bool { return inLine(tb, l) == n })
}
