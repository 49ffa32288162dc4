package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestInterrupt: an interrupt ends the current run, reports it, and skips the next.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithTimeout(t.Context(), 2*time.Second) // the run has begun by then
	defer interrupt()
	got := runArgs(ctx, "-users", "3", "-loops", "1000000", "-ramp-up", "0", "-think", "1ms")
	got.wantCode(t, 0)
	wantContains(t, got.stdout, "\nwrap lock ")
	wantContains(t, got.stdout, "\ninterrupted: ")
	if strings.Contains(got.stdout, "wrap no lock") {
		t.Error(got.stdout)
	}
	m := regexp.MustCompile(`\nwrap lock: ([0-9,]+) of ([0-9,]+) increments`).FindStringSubmatch(got.stdout)
	if m == nil || m[1] != m[2] {
		t.Errorf("counter and samples: %q", m)
	}
}
