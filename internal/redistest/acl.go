package redistest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// user is the one whose permissions are tested.
const user, password = "locker", "pw"

// DocumentedRules returns the ACL rules that the package comment in doc.go gives.
// If there are fewer than atLeast, it was not understood.
func DocumentedRules(tb testing.TB, atLeast int) (rules []string) {
	tb.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(doc)) {
		if rule, ok := strings.CutPrefix(line, "//	"); ok && strings.ContainsRune("r-+", rune(rule[0])) && !strings.Contains(rule, "(") {
			rules = append(rules, strings.Fields(rule)...)
		}
	}
	if len(rules) < atLeast {
		tb.Fatalf("found %q", rules)
	}
	return rules
}

// SetUser makes a user who may do what the rules say, and nothing else. admin may
// do everything.
func SetUser(tb testing.TB, admin *redis.Client, rules []string) {
	tb.Helper()
	args := []any{"acl", "setuser", user, "reset", "on", ">" + password}
	for _, r := range rules {
		args = append(args, r)
	}
	if err := admin.Do(tb.Context(), args...).Err(); err != nil {
		tb.Fatal(err)
	}
}

// AsUser lets a client be the user of [SetUser]. It is for [Server.Client].
func AsUser(o *redis.Options) { o.Username, o.Password = user, password }

// MustBeEnough checks that use succeeds with the rules, and that it is refused
// without any one of the permissions among them, except those that only help.
// Each time use gets the rules to call [SetUser] with.
func MustBeEnough(tb testing.TB, rules []string, helps map[string]bool, use func(rules []string) error) {
	tb.Helper()
	if err := use(rules); err != nil {
		tb.Fatal(err)
	}
	for i, r := range rules {
		if r[0] != '+' || helps[r] {
			continue
		}
		if err := use(slices.Delete(slices.Clone(rules), i, i+1)); !refused(err) {
			tb.Errorf("without %s: %v", r, err)
		}
	}
}

// refused reports whether the error is about a permission: the user's, or that of
// a script which the user runs. It may be one of several.
func refused(err error) bool {
	text := fmt.Sprint(err)
	return strings.Contains(text, "NOPERM") || strings.Contains(text, "The user executing the script can't run this command")
}
