package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// wantIs checks that err matches exactly the given errors of the package.
func wantIs(t *testing.T, err error, want ...error) {
	t.Helper()
	if len(want) == 0 && err != nil {
		t.Errorf("error %v, want none", err)
	}
	for _, e := range []error{
		distlock.ErrNotAcquired, distlock.ErrForeign, distlock.ErrLost, distlock.ErrKey, distlock.ErrQueueFull,
		distlock.ErrUnavailable, distlock.ErrClosed, distlock.ErrNoFencing, distlock.ErrUpgrade,
		context.Canceled, context.DeadlineExceeded, testkit.ErrBroken,
	} {
		if got := errors.Is(err, e); got != slices.Contains(want, e) {
			t.Errorf("errors.Is(%v, %v) = %v", err, e, got)
		}
	}
}

func wantLine(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// wantInOrder checks that err matches all of want, and lists them in this order.
func wantInOrder(t *testing.T, err error, want []error) {
	t.Helper()
	if len(want) == 0 && err != nil {
		t.Errorf("error %v, want none", err)
	}
	from := 0
	for _, e := range want {
		if !errors.Is(err, e) {
			t.Errorf("%v does not match %v", err, e)
			return
		}
		at := strings.Index(err.Error()[from:], e.Error())
		if at < 0 {
			t.Errorf("%v says %v too early", err, e)
			return
		}
		from += at
	}
}

// keyOf returns the key that an error names.
func keyOf(err error) string {
	if e := new(distlock.Error); errors.As(err, &e) {
		return e.Key
	}
	return ""
}

func wantPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	f()
}

// wantCalls checks how often op has reached the store.
func wantCalls(t *testing.T, s *testkit.Store, op testkit.Op, want int) {
	t.Helper()
	if n := len(s.Calls(op)); n != want {
		t.Errorf("%d calls of %s in the store, want %d", n, op, want)
	}
}

func mustBeFree(t *testing.T, s *testkit.Store, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if !s.Free(t, key) {
			t.Errorf("%q is held", key)
		}
	}
}

// nothingLeft checks that neither the Locker nor the store has data of the key.
func nothingLeft(t *testing.T, l *distlock.Locker, s *testkit.Store) {
	t.Helper()
	synctest.Wait()
	if l.Keys() != 0 || l.Watched() != 0 || !s.Free(t, "k") {
		t.Errorf("left: %d keys, %d watched; free %v", l.Keys(), l.Watched(), s.Free(t, "k"))
	}
	if n, leases := l.UnderWay(); n != 0 || leases != 0 {
		t.Errorf("left: %d under way, %d leases to cancel", n, leases)
	}
}
