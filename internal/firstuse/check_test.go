package firstuse_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/internal/firstuse"
)

// TestDo: callers that come together call once. One whose context ends does not wait for
// another, and what it has failed with is not the result of the next.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, calls := firstuse.New(), 0
		f := func(ctx context.Context) error {
			calls++
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(2 * time.Second):
				return nil
			}
		}
		var all sync.WaitGroup
		call := func(limit time.Duration, want error) {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				start := time.Now()
				if err := c.Do(ctx, f); !errors.Is(err, want) || time.Since(start) > limit {
					t.Errorf("a caller that has %v: %v after %v", limit, err, time.Since(start))
				}
			})
			synctest.Wait()
		}
		call(time.Second, context.DeadlineExceeded) // calls
		call(time.Second/2, context.DeadlineExceeded)
		for range 9 {
			call(time.Minute, nil)
		}
		all.Wait()
		if calls != 2 || !c.Done() {
			t.Errorf("%d calls, done %v", calls, c.Done())
		}
	})
}
