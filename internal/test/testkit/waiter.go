package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
)

// Waiting is a call on a goroutine of its own that waits for a lock.
type Waiting[T any] struct {
	Cancel context.CancelFunc
	Done   <-chan struct{} // closed when Got and Err are the result
	Got    T
	Err    error
	At     time.Time // of the result
}

// Waiter waits for a key of a backend.
type Waiter struct {
	*Waiting[driver.Grant]

	Request driver.Request
}

// StartWaiter starts a waiter. Without looks it does not look by itself. It is cancelled at the
// end of the test.
func StartWaiter(tb testing.TB, b driver.Queuer, r driver.Request, looks ...Looks) *Waiter {
	tb.Helper()
	one := append(looks, Looks{})[0]
	return &Waiter{wait(tb, func(ctx context.Context) (driver.Grant, error) { return Await(ctx, b, r, one) }), r}
}

// StartAcquire starts a caller of a Locker, which is cancelled at the end of the test.
func StartAcquire(tb testing.TB, l *distlock.Locker, key string, o distlock.Opts) *Waiting[*distlock.Lease] {
	tb.Helper()
	return wait(tb, func(ctx context.Context) (*distlock.Lease, error) { return l.Acquire(ctx, key, o) })
}

func wait[T any](tb testing.TB, acquire func(ctx context.Context) (T, error)) *Waiting[T] {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan struct{})
	w := &Waiting[T]{Cancel: cancel, Done: done}
	go func() {
		w.Got, w.Err = acquire(ctx)
		w.At = time.Now()
		close(done)
	}()
	tb.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// Served waits until the waiter has the lock.
func (w *Waiting[T]) Served(tb testing.TB) T {
	tb.Helper()
	select {
	case <-w.Done:
	case <-time.After(Patience):
		tb.Fatal("the waiter does not get the key")
	}
	if w.Err != nil {
		tb.Fatalf("Acquire: %v", w.Err)
	}
	return w.Got
}

// MustWait checks that the waiter still waits.
func (w *Waiting[T]) MustWait(tb testing.TB) {
	tb.Helper()
	select {
	case <-w.Done:
		tb.Fatalf("Acquire returned early: %v", w.Err)
	default:
	}
}

// Looks says when a waiter looks by itself.
type Looks = await.Looks

// Await waits for a key of a backend as a Locker does.
func Await(ctx context.Context, q driver.Queuer, r driver.Request, looks Looks) (driver.Grant, error) {
	return await.Grant(ctx, await.Backend{Ask: q.Enqueue, Turn: q.Turn}, r, looks)
}
