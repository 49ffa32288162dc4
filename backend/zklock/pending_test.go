package zklock_test

import (
	"context"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
)

// TestAnswerAfterTheEnd: an answer that has arrived counts even if the context has
// ended, for example while the process was suspended.
func TestAnswerAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		if v, err := zklock.Answer(ctx, 42); v != 42 || err != nil {
			t.Fatalf("%d, %v", v, err)
		}
	}
}
