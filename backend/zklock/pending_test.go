package zklock_test

import (
	"context"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
)

// TestAnswerAfterTheEnd: an answer that is there counts, also if the process has stood
// still for so long that the time for it is over.
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
