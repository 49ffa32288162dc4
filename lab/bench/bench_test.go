package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

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
