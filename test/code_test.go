package test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// coded has an error for each code except CodeOK, in the order of the codes.
var coded = []error{
	distlock.ErrLost,
	&distlock.Error{Op: "options", Err: testkit.ErrBroken},
	distlock.ErrKey,
	distlock.ErrUpgrade,
	distlock.ErrNoFencing,
	distlock.ErrClosed,
	distlock.ErrUnavailable,
	distlock.ErrQueueFull,
	distlock.ErrNotAcquired,
	testkit.ErrBroken,
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for i, err := range coded {
		want := distlock.CodeOK + 1 + distlock.Code(i)
		for _, err := range []error{err, fmt.Errorf("wrapped: %w", &distlock.Error{Op: "acquire", Err: err})} {
			if got := distlock.CodeOf(err); got != want {
				t.Errorf("%v: %v, want %v", err, got, want)
			}
		}
	}
	for err, want := range map[error]distlock.Code{
		nil: distlock.CodeOK, context.Canceled: distlock.CodeOther, &distlock.Error{Op: "ping", Err: errors.ErrUnsupported}: distlock.CodeOther,
		&distlock.HeldError{}: distlock.CodeNotAcquired, &distlock.KeyError{}: distlock.CodeKey,
		distlock.ErrForeign: distlock.CodeNotAcquired,
	} {
		if got := distlock.CodeOf(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// An error that matches several codes has the first of them, in any order of joining.
func TestCodeOrder(t *testing.T) {
	t.Parallel()
	for i, first := range coded {
		for _, second := range coded[i:] {
			want := distlock.CodeOf(first)
			for _, err := range []error{errors.Join(first, second), errors.Join(second, first)} {
				if got := distlock.CodeOf(err); got != want {
					t.Errorf("%v: %v, want %v", err, got, want)
				}
			}
		}
	}
}
