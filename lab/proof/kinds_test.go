package proof_test

import (
	"testing"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// kinds names errors, also for another process.
var kinds = testkit.Kinds

// wantKinds checks that err matches exactly these errors of the package.
func wantKinds(tb testing.TB, what string, err error, want string) {
	tb.Helper()
	if got := kinds(err); got != want {
		tb.Errorf("%s: %v, which is %s and not %s", what, err, got, want)
	}
}
