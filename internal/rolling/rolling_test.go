package rolling_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/internal/rolling"
)

func TestEndsAfterTheLimitAtTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 2 * time.Second
		r := rolling.New(limit)
		for range 50 {
			time.Sleep(130 * time.Millisecond)
			ctx := r.Context(t.Context(), time.Now())
			end, ok := ctx.Deadline()
			if left := time.Until(end); !ok || left > limit || left < limit-limit/4 {
				t.Errorf("%v left of %v", left, limit)
			}
			if ctx.Err() != nil {
				t.Error(ctx.Err())
			}
		}
		ctx := r.Context(t.Context(), time.Now())
		start := time.Now()
		<-ctx.Done()
		if d := time.Since(start); d > limit || d < limit-limit/4 || ctx.Err() != context.DeadlineExceeded {
			t.Errorf("%v after %v", ctx.Err(), d)
		}
		if err := r.Context(t.Context(), time.Now()).Err(); err != nil {
			t.Errorf("a new one: %v", err)
		}
	})
}

type key struct{}

func TestHasTheValuesOfTheParentAlone(t *testing.T) {
	parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 7))
	ctx := rolling.New(time.Hour).Context(parent, time.Now())
	cancel()
	if ctx.Err() != nil || ctx.Value(key{}) != 7 {
		t.Errorf("%v, %v", ctx.Err(), ctx.Value(key{}))
	}
	child, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if context.Cause(child) != nil || child.Err() != nil {
		t.Errorf("a child is cancelled: %v", context.Cause(child))
	}
}

// A context that ends in time anyway is not wrapped, which would cost an allocation and a lock.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := errors.New("late")
		for own, want := range map[time.Duration]struct {
			after time.Duration
			cause error
		}{
			time.Second: {time.Second, context.DeadlineExceeded},
			time.Minute: {2 * time.Second, late},
		} {
			parent, cancel := context.WithTimeout(t.Context(), own)
			start := time.Now()
			ctx, end := rolling.Within(parent, 2*time.Second, late)
			<-ctx.Done()
			if d := time.Since(start); d != want.after || !errors.Is(context.Cause(ctx), want.cause) {
				t.Errorf("within 2s of %v: %v after %v", own, context.Cause(ctx), d)
			}
			if (ctx == parent) != (own < 2*time.Second) {
				t.Errorf("%v: the same context: %v", own, ctx == parent)
			}
			end()
			cancel()
		}
	})
}
