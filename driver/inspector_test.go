package driver_test

import (
	"testing"

	"github.com/distlock-go/distlock/driver"
)

func TestFingerprint(t *testing.T) {
	const owner = "9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11@web-3"
	if got, want := driver.Fingerprint(owner), "18d875d4558d"; got != want {
		t.Errorf("Fingerprint(%q) = %q, want %q: tools compare fingerprints over versions", owner, got, want)
	}
}
