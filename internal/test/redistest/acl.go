package redistest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// user is the account that the tests restrict.
const user, password = "locker", "pw"

// DocumentedRules returns the ACL rules in the package comment of doc.go. It fails the
// test if it finds fewer than atLeast.
func DocumentedRules(tb testing.TB, atLeast int) (rules []string) {
	tb.Helper()
	doc, err := os.ReadFile("doc.go")
	must(tb, err)
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

// SetUser creates a user with the permissions in rules and no others. admin needs all
// permissions.
func SetUser(tb testing.TB, admin *redis.Client, rules []string) {
	tb.Helper()
	args := []any{"acl", "setuser", user, "reset", "on", ">" + password}
	for _, r := range rules {
		args = append(args, r)
	}
	must(tb, admin.Do(tb.Context(), args...).Err())
}

// AsUser makes a client log in as the user of [SetUser]. Pass it to [Server.Client].
func AsUser(o *redis.Options) { o.Username, o.Password = user, password }

// MustBeEnough checks that use succeeds with rules, and that the server refuses it if
// any one of the permissions is missing, except those in helps. use receives the rules
// to call [SetUser] with.
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

// refused reports whether err, or an error that it wraps, is about a missing permission
// of the user or of a script that the user runs.
func refused(err error) bool {
	text := fmt.Sprint(err)
	return strings.Contains(text, "NOPERM") ||
		strings.Contains(text, "The user executing the script can't run this command") || // up to Redis 7.0
		strings.Contains(text, "ACL failure in script") // Redis 7.2, Valkey
}
