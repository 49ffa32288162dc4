package distlock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
)

func TestDetachedContext(t *testing.T) {
	for name, first := range map[string]func(context.Context){
		"Done first":  func(ctx context.Context) { ctx.Done() },
		"Err first":   func(ctx context.Context) { _ = ctx.Err() },
		"Value first": func(ctx context.Context) { ctx.Value(ctxKey{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(context.WithValue(t.Context(), ctxKey{}, "kept"))
				cancel()
				start := time.Now()
				ctx, end := distlock.Detached(parent, time.Second)
				defer end()
				first(ctx)
				if deadline, ok := ctx.Deadline(); !ok || deadline.Sub(start) != time.Second {
					t.Errorf("deadline %v", deadline)
				}
				if ctx.Err() != nil || ctx.Value(ctxKey{}) != "kept" {
					t.Errorf("err %v, value %v", ctx.Err(), ctx.Value(ctxKey{}))
				}
				before := runtime.NumGoroutine()
				child, stop := context.WithCancel(ctx)
				defer stop()
				if n := runtime.NumGoroutine() - before; n != 0 {
					t.Errorf("a child costs %d goroutines", n)
				}
				<-child.Done()
				if d := time.Since(start); d != time.Second || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
					t.Errorf("ended after %v with %v", d, ctx.Err())
				}
			})
		})
	}
}
