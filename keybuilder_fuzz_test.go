package distlock_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/distlock-go/distlock"
)

// oneTag matches keys without braces, and those with braces around one hash tag.
var oneTag = regexp.MustCompile(`^[^{}]*(\{[^{}]+\}[^{}]*)?$`)

// FuzzCheckKey compares checkKey with a slow form of the rule.
func FuzzCheckKey(f *testing.F) {
	for _, s := range []string{"a", "", "a b", "{a}", "b{a}", "{a}{b}", "{}", "}a{", "é{a", "é", "a\u0085", "\xff", "\u2028", strings.Repeat("x", 201)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		fine := len(key) >= 1 && len(key) <= 200 && utf8.ValidString(key) && !strings.ContainsFunc(key, func(r rune) bool {
			return unicode.IsControl(r) || unicode.IsSpace(r)
		}) && oneTag.MatchString(key)
		err := distlock.CheckKey(key)
		if (err == nil) != fine {
			t.Errorf("%q: %v, want fine: %t", key, err, fine)
		}
		if err != nil && !errors.Is(err, distlock.ErrKey) {
			t.Errorf("%q: %v is not ErrKey", key, err)
		}
		if err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%q: the error is not fit for a log: %q", key, err.Error())
		}
	})
}
