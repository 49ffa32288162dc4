package testkit

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/distlock-go/distlock"
)

// Bubble runs f in virtual time with a Locker over a store, and closes the Locker at
// the end.
func Bubble(t *testing.T, f func(t *testing.T, l *distlock.Locker, s *Store)) {
	t.Helper()
	BubbleWith(t, distlock.Config{}, f)
}

// BubbleWith is [Bubble] for a Locker with this configuration.
func BubbleWith(t *testing.T, cfg distlock.Config, f func(t *testing.T, l *distlock.Locker, s *Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := NewStore()
		f(t, NewLocker(t, s, cfg), s)
	})
}

// BubbleCase is [Bubble] in a subtest.
func BubbleCase(t *testing.T, name string, f func(t *testing.T, l *distlock.Locker, s *Store)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { Bubble(t, f) })
}

// InBubble runs f as a subtest in virtual time.
func InBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// Line starts n goroutines that run f under the lock, in this order.
func Line(t *testing.T, all *sync.WaitGroup, l *distlock.Locker, n int, o distlock.Opts, f func(ctx context.Context, i int)) {
	t.Helper()
	for i := range n {
		all.Go(func() {
			WantIs(t, l.Do(t.Context(), "k", o, func(ctx context.Context) error { f(ctx, i); return nil }))
		})
		synctest.Wait()
	}
}

// InBackground acquires the lock of the key "k" in a goroutine and sends the lease.
func InBackground(t *testing.T, l *distlock.Locker, o distlock.Opts) <-chan *distlock.Lease {
	t.Helper()
	got := make(chan *distlock.Lease, 1)
	go func() {
		s, err := l.Acquire(t.Context(), "k", o)
		WantIs(t, err)
		got <- s
	}()
	synctest.Wait()
	return got
}

// MustGet returns the lease of a waiter of InBackground, which has it by now.
func MustGet(t *testing.T, got <-chan *distlock.Lease) *distlock.Lease {
	t.Helper()
	synctest.Wait()
	if len(got) == 0 {
		t.Fatal("was not let in")
	}
	return <-got
}

// Suspend returns t with only its wall clock moved by d, as after a suspension of the
// machine: the monotonic clock stood still.
func Suspend(t time.Time, d time.Duration) time.Time {
	moved := t.Add(d)
	// time.Time is {wall uint64; ext int64; loc *Location}, where ext is the monotonic
	// reading.
	(*struct {
		wall uint64
		ext  int64
	})(unsafe.Pointer(&moved)).ext -= int64(d)
	return moved
}
