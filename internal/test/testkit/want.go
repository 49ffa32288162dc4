package testkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

// WantIs checks that err matches exactly the given errors of the package.
func WantIs(t *testing.T, err error, want ...error) {
	t.Helper()
	if len(want) == 0 && err != nil {
		t.Errorf("error %v, want none", err)
	}
	for _, e := range []error{
		distlock.ErrNotAcquired, distlock.ErrForeign, distlock.ErrLost, distlock.ErrKey, distlock.ErrQueueFull,
		distlock.ErrUnavailable, distlock.ErrClosed, distlock.ErrNoFencing, distlock.ErrUpgrade, distlock.ErrReentry,
		context.Canceled, context.DeadlineExceeded, ErrBroken,
	} {
		if got := errors.Is(err, e); got != slices.Contains(want, e) {
			t.Errorf("errors.Is(%v, %v) = %v", err, e, got)
		}
	}
}

// ErrorOf returns the error of a call of which nothing else matters.
func ErrorOf[T any](_ T, err error) error { return err }

// WantPanic checks that f panics with a value whose text is want.
func WantPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	f()
}

// WantCalls checks how often op has reached the store.
func WantCalls(t *testing.T, s *Store, op Op, want int) {
	t.Helper()
	if n := len(s.Calls(op)); n != want {
		t.Errorf("%d calls of %s in the store, want %d", n, op, want)
	}
}

// WantTook checks how much virtual time has passed since the start.
func WantTook(t *testing.T, start time.Time, want time.Duration) {
	t.Helper()
	if took := time.Since(start); took != want {
		t.Errorf("it took %v, want %v", took, want)
	}
}

// MustBeFree checks that no one holds the keys in the store.
func MustBeFree(t *testing.T, s *Store, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if !s.Free(t, key) {
			t.Errorf("%q is held", key)
		}
	}
}

// WhenCalled returns a Hasher that gives the text to parameters, and a short one when
// options are checked.
func WhenCalled(text string) distlock.Hasher {
	return distlock.HasherFunc(func(key, params []byte) []byte {
		if len(params) == 0 {
			return append(key, 'x')
		}
		return append(key, text...)
	})
}
