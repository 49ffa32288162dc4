package owner_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/internal/owner"
)

// An owner is a random UUID of version 4, and the name of the holder unchanged.
func TestNew(t *testing.T) {
	for _, suffix := range []string{"", "@web-3/1432", "@" + strings.Repeat("n", owner.MaxHolder)} {
		seen := map[string]bool{}
		for range 1000 {
			o := owner.New(suffix)
			if !strings.HasSuffix(o, suffix) || len(o) != 36+len(suffix) {
				t.Fatalf("New(%q) = %q", suffix, o)
			}
			id, err := uuid.Parse(o[:36])
			if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 || id.String() != o[:36] {
				t.Fatalf("New(%q) = %q: version %d, %v, %v", suffix, o, id.Version(), id.Variant(), err)
			}
			if got := owner.Holder(o); got != strings.TrimPrefix(suffix, "@") {
				t.Fatalf("Holder(%q) = %q", o, got)
			}
			seen[o] = true
		}
		if len(seen) != 1000 {
			t.Errorf("1000 owners, %d of them different", len(seen))
		}
	}
}

func TestDefaultHolder(t *testing.T) {
	name := owner.DefaultHolder()
	if pid := "/" + strconv.Itoa(os.Getpid()); !strings.HasSuffix(name, pid) || name == pid {
		t.Errorf("DefaultHolder() = %q, want a host and %q", name, pid)
	}
	if len(name) > owner.MaxHolder || strings.ContainsFunc(name, owner.Excluded) {
		t.Errorf("DefaultHolder() = %q: too long, or with a character that a store cannot keep", name)
	}
}

func TestHolder(t *testing.T) {
	id := uuid.NewString()
	for o, want := range map[string]string{
		id + "@web-3/1432":                  "web-3/1432",
		id + "@" + strings.Repeat("h", 64):  strings.Repeat("h", 64),
		id + "@" + strings.Repeat("h", 65):  "",
		id + "@":                            "",
		id:                                  "",
		"":                                  "",
		"web-3/1432":                        "",
		id + "@web 3":                       "",
		id + "@web:3":                       "",
		id + "@b\u00fcro":                   "",
		id[:35] + "@web-3":                  "",
		strings.Repeat("x", 36) + "@web-3":  "", // another library's
		"bWV0YWRhdGEgb2YgYW5vdGhlciBsaWI@x": "",
	} {
		if got := owner.Holder(o); got != want {
			t.Errorf("Holder(%q) = %q, want %q", o, got, want)
		}
	}
}
