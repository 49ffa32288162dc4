package proof_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

// key is the key that all processes lock.
const key = "shop:order"

// patience limits the wait for an event on a slow and busy machine.
const patience = 30 * time.Second

// within waits until cond is true, and returns false if it is not true in time.
func within(d time.Duration, cond func() bool) bool {
	deadline := time.Now().Add(d)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}

func eventually(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	if !within(patience, cond) {
		tb.Fatalf("it never came true that %s", what)
	}
}

// isDone waits for done, and returns false if it is not closed in time.
func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(patience):
		return false
	}
}

func await(tb testing.TB, what string, done <-chan struct{}) {
	tb.Helper()
	if !isDone(done) {
		tb.Fatalf("it never happened: %s", what)
	}
}

func mustAcquire(tb testing.TB, l *distlock.Locker, key string, o distlock.Opts) *distlock.Lease {
	tb.Helper()
	return acquire(tb, l, key, o).served(tb)
}

func mustRelease(tb testing.TB, s *distlock.Lease) {
	tb.Helper()
	if err := s.Release(context.Background()); err != nil {
		tb.Fatalf("Release: %v", err)
	}
}

// waiting is an Acquire in a goroutine.
type waiting struct {
	cancel context.CancelFunc
	done   chan struct{}
	lease  *distlock.Lease
	err    error
	at     time.Time // the time when done was closed
}

func acquire(tb testing.TB, l *distlock.Locker, key string, o distlock.Opts) *waiting {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiting{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.lease, w.err = l.Acquire(ctx, key, o)
		w.at = time.Now()
	}()
	tb.Cleanup(func() {
		cancel()
		<-w.done
	})
	return w
}

// served waits until Acquire has returned a lease.
func (w *waiting) served(tb testing.TB) *distlock.Lease {
	tb.Helper()
	await(tb, "a waiter is served", w.done)
	if w.err != nil {
		tb.Fatalf("Acquire: %v", w.err)
	}
	return w.lease
}

// kinds returns the names of the package's errors that err matches: "none" for nil.
func kinds(err error) string {
	if err == nil {
		return "none"
	}
	names := []string{}
	for name, e := range map[string]error{
		"not-acquired": distlock.ErrNotAcquired, "lost": distlock.ErrLost, "key": distlock.ErrKey,
		"queue-full": distlock.ErrQueueFull, "unavailable": distlock.ErrUnavailable, "closed": distlock.ErrClosed,
		"no-fencing": distlock.ErrNoFencing, "upgrade": distlock.ErrUpgrade,
		"canceled": context.Canceled, "deadline": context.DeadlineExceeded,
	} {
		if errors.Is(err, e) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "another"
	}
	return strings.Join(names, "+")
}

// wantKinds checks that err matches exactly these errors of the package.
func wantKinds(tb testing.TB, what string, err error, want string) {
	tb.Helper()
	if got := kinds(err); got != want {
		tb.Errorf("%s: %v, which is %s and not %s", what, err, got, want)
	}
}
