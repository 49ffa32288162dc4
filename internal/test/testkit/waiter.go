package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Waiter is a call of Acquire of a backend on a goroutine of its own.
type Waiter struct {
	Request driver.Request
	Cancel  context.CancelFunc
	Done    <-chan struct{} // closed when Grant and Err are the result
	Grant   driver.Grant
	Err     error
}

// StartWaiter starts a waiter, which is cancelled at the end of the test. Unless r has a
// Backoff, it does not look by itself for an hour.
func StartWaiter(tb testing.TB, b driver.Queuer, r driver.Request) *Waiter {
	tb.Helper()
	if r.Backoff == nil {
		r.Backoff = driver.NewBackoff(time.Hour, 0)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan struct{})
	w := &Waiter{Request: r, Cancel: cancel, Done: done}
	go func() {
		w.Grant, w.Err = b.Acquire(ctx, r)
		close(done)
	}()
	tb.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// Served waits until the waiter has the key.
func (w *Waiter) Served(tb testing.TB) driver.Grant {
	tb.Helper()
	select {
	case <-w.Done:
	case <-time.After(Patience):
		tb.Fatal("the waiter does not get the key")
	}
	if w.Err != nil {
		tb.Fatalf("Acquire: %v", w.Err)
	}
	return w.Grant
}

// MustWait checks that the waiter still waits.
func (w *Waiter) MustWait(tb testing.TB) {
	tb.Helper()
	select {
	case <-w.Done:
		tb.Fatalf("Acquire returned early: %v", w.Err)
	default:
	}
}
