package proof_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
)

// kinds returns the names of the package's errors that err matches: "none" for nil.
func kinds(err error) string {
	if err == nil {
		return "none"
	}
	names := []string{}
	for name, e := range map[string]error{
		"not-acquired": distlock.ErrNotAcquired, "lost": distlock.ErrLost, "key": distlock.ErrKey,
		"queue-full": distlock.ErrQueueFull, "unavailable": distlock.ErrUnavailable, "closed": distlock.ErrClosed,
		"no-fencing": distlock.ErrNoFencing, "upgrade": distlock.ErrUpgrade, "reentry": distlock.ErrReentry,
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
