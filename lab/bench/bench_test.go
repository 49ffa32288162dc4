package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/child"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(child.Main{Tests: m}) }

// ended is the result of a call of the program.
type ended struct {
	code           int
	stdout, stderr string
}

func runArgs(ctx context.Context, args ...string) ended {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, &stdout, &stderr)
	return ended{code, stdout.String(), stderr.String()}
}

func (e ended) wantCode(t *testing.T, code int) {
	t.Helper()
	if e.code != code {
		t.Fatalf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", e.code, code, e.stdout, e.stderr)
	}
}

func wantContains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("got\n%s\nwant it to contain\n%s", text, part)
	}
}

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

// An interrupt ends the current run, reports it, and skips the next.
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
	if !regexp.MustCompile(`\nwrap lock: [1-9][0-9,]* of [1-9][0-9,]* increments`).MatchString(got.stdout) || strings.Contains(got.stdout, "lost") {
		t.Errorf("counter and samples: %s", got.stdout)
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-users 0":                "bench: -users 0 -loops 10 -keys 1: want at least 1 of each",
		"-ramp-up -1s":            "bench: -ramp-up -1s -think 100ms -hold 0s: a time is negative",
		"-lock maybe":             `bench: -lock "maybe": want on, off or both`,
		"wrap":                    `bench: unexpected argument "wrap"`,
		"-backend carrier-pigeon": "bench: backend \"…\": invalid backend: want one of redis://",
	} {
		if got := runArgs(t.Context(), strings.Fields(args)...); got.code != 2 || !strings.HasPrefix(got.stderr, want) {
			t.Errorf("%s: exit code %d, stderr %q, want %q", args, got.code, got.stderr, want)
		}
	}
	got := runArgs(t.Context(), "-h")
	got.wantCode(t, 0)
	wantContains(t, got.stderr, "\n  -users ")
}
