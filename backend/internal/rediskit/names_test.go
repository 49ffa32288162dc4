package rediskit_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// The companions of a lock are in its slot, and are those of no other lock.
func TestCompanion(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"a":         "{a}:queue",
		"a:queue":   "{a:queue}:queue",
		"{order}:1": "{order}{{order}:1}:queue",
		"a{b}c":     "{b}{a{b}c}:queue",
		"{a}":       "{a}{{a}}:queue",
		"a{b}":      "{b}{a{b}}:queue",
	} {
		got := rediskit.Companion(key, ":queue")
		if got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
		if back, ok := rediskit.KeyOf(got, ":queue"); back != key || !ok {
			t.Errorf("%s is that of %q, %t", got, back, ok)
		}
		if err := rediskit.CheckKey(got); err == nil {
			t.Errorf("%s may be a lock", got)
		}
	}
	for _, name := range []string{"", "a", "}:queue", "{}:queue", "{a}:gone", "{b}{a}:queue", "{b}{{a}c}:queue", "{{a}c}:queue", "{a}{{a}c}d}:queue", "x{a}:queue", "{a}:queue}:queue"} {
		if key, ok := rediskit.KeyOf(name, ":queue"); ok {
			t.Errorf("%s is that of %q", name, key)
		}
	}
}

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for key, fine := range map[string]bool{
		"a": true, "{order}:1": true, "a{b}c": true, "{a}": true, "a{b}:queue": true, "{a}:queue:1": true, "{a}:gonewith": true,
		"": false, "{": false, "}": false, "{}": false, "}a{": false, "{a": false, "a}": false, "{a}{b}": false, "{{a}}": false, "{a{b}": false, "{a}b}": false,
		"{a}:queue": false, "{a}:gone": false, "{a}:gone:owner": false, "{a}:token": false,
	} {
		if err := rediskit.CheckKey(key); (err == nil) != fine {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// slotText returns the part of a key that chooses the slot, as the specification of
// Redis Cluster says.
func slotText(key string) string {
	if m := regexp.MustCompile(`^[^{]*\{([^}]+)\}`).FindStringSubmatch(key); m != nil {
		return m[1]
	}
	return key
}

// FuzzCompanion: no two locks share a key, and all keys of a lock are in one slot.
func FuzzCompanion(f *testing.F) {
	f.Add("a", "{a}:queue")
	f.Add("{a}b", "{a}{{a}b}:queue")
	f.Add("{order}:1", "a")
	f.Fuzz(func(t *testing.T, a, b string) {
		if rediskit.CheckKey(a) != nil || rediskit.CheckKey(b) != nil || strings.Contains(a+b, "\n") {
			return
		}
		names := map[string]string{a: a}
		for _, suffix := range []string{":queue", ":gone", ":token", ":gone:o"} {
			name := rediskit.Companion(a, suffix)
			if slotText(name) != slotText(a) {
				t.Errorf("%q is in the slot of %q, its %q in that of %q", a, slotText(a), name, slotText(name))
			}
			if key, ok := rediskit.KeyOf(name, suffix); key != a || !ok {
				t.Errorf("%q is that of %q, %t", name, key, ok)
			}
			names[name] = a
			if other := rediskit.Companion(b, suffix); a != b && names[other] != "" {
				t.Errorf("%q and %q share %q", a, b, other)
			}
		}
		if a != b && names[b] != "" {
			t.Errorf("%q is a key of the lock %q", b, a)
		}
	})
}
