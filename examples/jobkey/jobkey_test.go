package jobkey_test

import (
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/jobkey"
)

// names are what people write, and what libraries make of functions.
var names = map[string]string{
	"report":                   "report",
	"Daily report":             "Daily%20report",
	"cleanup {{.Tenant}}":      "cleanup%20%7B%7B.Tenant%7D%7D",
	"отчёт":                    "отчёт",
	"sync\tusers":              "sync%09users",
	"5 0 * * * report":         "5%200%20*%20*%20*%20report",
	"main.(*svc).Report-fm":    "main.%28*svc%29.Report-fm",
	"not \xff UTF-8":           "not%20%FF%20UTF-8",
	"":                         "",
	"42":                       "42",
	strings.Repeat("x", 1_000): "~",
}

// TestOf: each name is a key, by one rule, and no two names share it.
func TestOf(t *testing.T) {
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	seen := map[string]bool{}
	for name, want := range names {
		key := jobkey.Of(name)
		if key != want && (len(name) <= 200 || !strings.HasPrefix(key, want)) || seen[key] {
			t.Errorf("%.20q: %s, want %s", name, key, want)
		}
		seen[key] = true
		lease, err := l.TryAcquire(t.Context(), key, distlock.Opts{Prefix: "cron:"})
		if err != nil {
			t.Errorf("%.20q: %v", name, err)
			continue
		}
		_ = lease.Release(t.Context())
	}
	if _, err := l.TryAcquire(t.Context(), jobkey.Of(strings.Repeat("x", 2<<20)), distlock.Opts{}); distlock.CodeOf(err) != distlock.CodeKey {
		t.Errorf("a name of 2 MiB: %v", err)
	}
}

// TestCheck: what every job would be refused for is found at once.
func TestCheck(t *testing.T) {
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	jobkey.Check(l, distlock.Opts{Prefix: "cron:"})
	for name, o := range map[string]distlock.Opts{
		"a negative time": {MaxHold: -1}, "a prefix with a space": {Prefix: "my jobs:"},
		"a prefix without room": {Prefix: strings.Repeat("p", 110)}, "ParamLock": {ParamLock: true},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			jobkey.Check(l, o)
		}()
	}
}
