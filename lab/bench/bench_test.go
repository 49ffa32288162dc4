package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestWrapOnEmbedded(t *testing.T) {
	t.Parallel()
	got := runArgs(t.Context(), "-users", "20", "-loops", "3", "-ramp-up", "10ms", "-think", "1ms", "-hold", "1ms")
	got.wantCode(t, 0)
	if !strings.HasPrefix(got.stdout, "wrap: 20 users x 3 loops, ramp-up 10ms, think 1ms, hold 1ms, keys 1, backend embedded\n\nLabel ") {
		t.Error(got.stdout)
	}
	wantContains(t, got.stdout, "\nTOTAL ")
	wantContains(t, got.stdout, "\nwrap lock: 60 of 60 increments\n")
	wantContains(t, got.stdout, "\nwrap no lock: ")
	if got.stderr != "" {
		t.Errorf("stderr %q", got.stderr)
	}
}

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
