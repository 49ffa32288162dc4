package rediskit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/internal/background"
)

// End waits for an operation that was abandoned, up to its limit.
func TestEndWaitsForAbandonedCalls(t *testing.T) {
	for takes, want := range map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second, time.Hour: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			bg := background.New()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			op := func(context.Context) (int, error) {
				time.Sleep(takes)
				return 0, nil
			}
			rediskit.Call(ctx, bg, op, func(int, error) {})
			start := time.Now()
			bg.End(time.Minute)
			if d := time.Since(start); d != want {
				t.Errorf("End took %v, want %v", d, want)
			}
			time.Sleep(takes) // the bubble ends with its goroutines
		})
	}
}
