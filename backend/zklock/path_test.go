package zklock_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/distlock-go/distlock/backend/zklock"
)

func TestEscapeKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"":               "%",
		"%":              "%25",
		"shop:order-42":  "shop:order-42",
		"a b":            "a b",
		"a/b":            "a%2Fb",
		"a%2Fb":          "a%252Fb",
		".":              "%2E",
		"..":             "%2E.",
		"...":            "...",
		"a.":             "a.",
		"zookeeper":      "%7Aookeeper",
		"zookeeper2":     "zookeeper2",
		"\x00\n\x7f":     "%00%0A%7F",
		"\u0085":         "%C2%85",
		"stra\u00dfe":    "stra\u00dfe",
		"\u65e5\u672c":   "\u65e5\u672c",
		"\ue000":         "%EE%80%80",
		"\ufff0":         "%EF%BF%B0",
		"\U0001f512":     "%F0%9F%94%92",
		"\xff":           "%FF",
		"\xed\xa0\x80":   "%ED%A0%80",
		"\u00e9e\u0301/": "\u00e9e\u0301%2F",
	} {
		if name := zklock.EscapeKey(key); name != want {
			t.Errorf("%q becomes %q, want %q", key, name, want)
		}
	}
	for _, name := range []string{"%2", "%2x", "%2f", "%41", "a/b", ".", "..", "zookeeper", "\n", "%E6%97%A5", ""} {
		if key, ok := zklock.UnescapeKey(name); ok && zklock.EscapeKey(key) != name {
			t.Errorf("%q is accepted as the name of %q", name, key)
		}
	}
}

// FuzzPath: ZooKeeper accepts every name, and UnescapeKey returns its key. So no two
// keys have the same name.
func FuzzPath(f *testing.F) {
	for _, key := range []string{
		"", "a", "/", ".", "..", "...", "zookeeper", "a/b", "%", "%25", "a%2Fb", "\x00", "\x1f", "\x7f", "\u0080", "\u009f",
		"\u00a0", "\ud7ff", "\ue000", "\uf8ff", "\ufff0", "\ufffd", "\uffff", "\U0001f512", "\xff\xfe", "\xed\xa0\x80", "e\u0301", "\u00e9",
		strings.Repeat("x", 300),
	} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		name := zklock.EscapeKey(key)
		if back, ok := zklock.UnescapeKey(name); !ok || back != key {
			t.Errorf("%q becomes %q, and that %q, %v", key, name, back, ok)
		}
		if name == "" || name == "." || name == ".." || name == "zookeeper" || !utf8.ValidString(name) {
			t.Errorf("%q becomes %q", key, name)
		}
		for _, r := range name {
			// ZooKeeper's PathUtils refuses these, in UTF-16.
			if r == '/' || r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 {
				t.Errorf("%q becomes %q, with %q in it", key, name, r)
			}
		}
	})
}
