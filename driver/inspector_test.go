package driver_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/driver"
)

func TestFingerprint(t *testing.T) {
	const owner = "9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11@web-3"
	if got, want := driver.Fingerprint(owner), "18d875d4558d"; got != want {
		t.Errorf("Fingerprint(%q) = %q, want %q: tools compare fingerprints over versions", owner, got, want)
	}
	seen := map[string]bool{}
	for range 1000 {
		o := uuid.NewString()
		f := driver.Fingerprint(o)
		if !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(f) || strings.Contains(o, f) {
			t.Fatalf("Fingerprint(%q) = %q", o, f)
		}
		seen[f] = true
	}
	if len(seen) != 1000 {
		t.Errorf("1000 owners have %d fingerprints", len(seen))
	}
}
