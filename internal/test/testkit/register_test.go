package testkit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// failures is a test that records how it fails.
type failures struct {
	testing.TB

	what []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.what = append(f.what, fmt.Sprintf(format, args...))
}

// TestRegisterFindsViolations has wrong and right holders.
func TestRegisterFindsViolations(t *testing.T) {
	const key = "k"
	for name, c := range map[string]struct {
		use  func(tb testing.TB, r *testkit.Register)
		want string // "": it is right
	}{
		"in turns": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			for token := range uint64(3) {
				r.Enter(tb, key, token+1)
				r.Leave(key, token+1)
			}
		}, ""},
		"two keys": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.Enter(tb, key, 1)
			r.Enter(tb, "another", 1)
		}, ""},
		"two at once": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.Enter(tb, key, 1)
			r.Enter(tb, key, 2)
		}, "token 2 enters while 1 is inside"},
		"the same token": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.Enter(tb, key, 5)
			r.Leave(key, 5)
			r.Enter(tb, key, 5)
		}, "used twice"},
		"a lower token": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.Enter(tb, key, 5)
			r.Leave(key, 5)
			r.Enter(tb, key, 4)
		}, "token 4 after token 5"},
		"lenient: two at once, in any order": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.SetLenient(true)
			r.Enter(tb, key, 7)
			r.Enter(tb, key, 6)
			r.Leave(key, 7)
			r.Leave(key, 6)
			r.SetLenient(false)
			r.Enter(tb, key, 8)
		}, ""},
		"lenient: the same token": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.SetLenient(true)
			r.Enter(tb, key, 7)
			r.Enter(tb, key, 7)
		}, "used twice"},
		"lenient: below a strict one": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.Enter(tb, key, 7)
			r.SetLenient(true)
			r.Enter(tb, key, 6)
		}, "token 6 after token 7"},
	} {
		t.Run(name, func(t *testing.T) {
			var r testkit.Register
			f := &failures{TB: t}
			c.use(f, &r)
			if c.want == "" && len(f.what) > 0 || c.want != "" && !strings.Contains(strings.Join(f.what, "\n"), c.want) {
				t.Errorf("it found %q, want %q", f.what, c.want)
			}
		})
	}
}
