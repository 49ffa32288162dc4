package etcdlock_test

import (
	"strings"
	"testing"

	"github.com/distlock-go/distlock/backend/etcdlock"
)

func TestEscapeKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"shop:order-42": "shop:order-42",
		"a/b":           "a%2Fb",
		"a%2Fb":         "a%252Fb",
		"/":             "%2F",
		"100%":          "100%25",
		"%session":      "%25session",
		"ключ\x00\n":    "ключ\x00\n",
	} {
		if got := etcdlock.EscapeKey(key); got != want {
			t.Errorf("%q is %q, want %q", key, got, want)
		}
	}
}

// FuzzEscapeKey checks that different keys have different names, that no name is within
// another one, and that prefixes stay prefixes.
func FuzzEscapeKey(f *testing.F) {
	f.Add("a", "a/b")
	f.Add("a%2Fb", "a/b")
	f.Add("%", "%25")
	f.Fuzz(func(t *testing.T, x, y string) {
		a, b := etcdlock.EscapeKey(x), etcdlock.EscapeKey(y)
		if (a == b) != (x == y) {
			t.Errorf("%q and %q are %q and %q", x, y, a, b)
		}
		if strings.Contains(a, "/") {
			t.Errorf("%q has a slash", a)
		}
		if etcdlock.UnescapeKey(a) != x {
			t.Errorf("%q becomes %q", x, etcdlock.UnescapeKey(a))
		}
		if strings.HasPrefix(y, x) && !strings.HasPrefix(b, a) {
			t.Errorf("%q is a prefix of %q, but %q is not one of %q", x, y, a, b)
		}
	})
}
