package testkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

var kinds = map[string]error{
	"not-acquired": distlock.ErrNotAcquired, "foreign": distlock.ErrForeign, "lost": distlock.ErrLost, "key": distlock.ErrKey,
	"queue-full": distlock.ErrQueueFull, "unavailable": distlock.ErrUnavailable, "closed": distlock.ErrClosed,
	"no-fencing": distlock.ErrNoFencing, "upgrade": distlock.ErrUpgrade, "reentry": distlock.ErrReentry,
	"canceled": context.Canceled, "deadline": context.DeadlineExceeded, "broken": ErrBroken,
}

// Kinds returns the names of the errors that err matches, such as "canceled+not-acquired":
// "none" for nil.
func Kinds(err error) string {
	names := []string{}
	for name, e := range kinds {
		if errors.Is(err, e) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch {
	case err == nil:
		return "none"
	case len(names) == 0:
		return "another"
	default:
		return strings.Join(names, "+")
	}
}

// WantIs checks that err matches the given errors, and no others that have a kind.
func WantIs(t *testing.T, err error, want ...error) {
	t.Helper()
	if got, want := Kinds(err), Kinds(errors.Join(want...)); got != want {
		t.Errorf("%v, which is %s and not %s", err, got, want)
	}
}

// ErrorOf returns the error of a call of which nothing else matters.
func ErrorOf[T any](_ T, err error) error { return err }

// Ran returns the error of a function under a lock that has returned err: see [distlock.Ran].
func Ran(t *testing.T, err error) error {
	t.Helper()
	return NewLocker(t, NewStore(), distlock.Config{}).Do(t.Context(), "ran", distlock.Opts{}, func(context.Context) error { return err })
}

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
	return distlock.Hasher(func(key, params []byte) []byte {
		if len(params) == 0 {
			return append(key, 'x')
		}
		return append(key, text...)
	})
}
