package proof_test

import (
	"context"
	"testing"

	"github.com/distlock-go/distlock"
)

// key is the key that all processes lock.
const key = "shop:order"

func mustRelease(tb testing.TB, s *distlock.Lease) {
	tb.Helper()
	if err := s.Release(context.Background()); err != nil {
		tb.Fatalf("Release: %v", err)
	}
}
