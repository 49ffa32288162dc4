package torture

import (
	"errors"
	"testing"

	"github.com/distlock-go/distlock"
)

// TestErrorOf checks that the error of the release of a set is assigned to the keys
// that it names, or to all keys if it names none.
func TestErrorOf(t *testing.T) {
	a := &distlock.Error{Key: "a", Err: distlock.ErrLost}
	b := &distlock.Error{Key: "b", Err: errors.Join(distlock.ErrLost, distlock.ErrUnavailable)}
	strange := errors.New("strange")
	for _, test := range []struct{ err, want error }{
		{nil, nil},
		{a, a},
		{errors.Join(a, b), a},
		{errors.Join(b), nil},
		{errors.Join(b, strange), strange},
	} {
		if got := errorOf(test.err, "a"); got != test.want { //nolint:errorlint // the same value
			t.Errorf("of %v: %v", test.err, got)
		}
	}
	if got := verdict(b); got != unknown {
		t.Errorf("lost, and no answer: %v", got)
	}
}
