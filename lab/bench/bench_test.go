package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// The stores of a URL are tested in cmd/backendurl.
func TestWrap(t *testing.T) {
	t.Parallel()
	file := "sqlite:" + filepath.Join(t.TempDir(), "bench.db")
	for _, keys := range []string{"1", "7"} {
		for backend, name := range map[string]string{embedded: embedded, file: backendurl.Name(file)} {
			got := runArgs(t.Context(), "-backend", backend, "-keys", keys,
				"-users", "20", "-loops", "3", "-ramp-up", "10ms", "-think", "1ms", "-hold", "1ms")
			got.wantCode(t, 0)
			head := "wrap: 20 users x 3 loops, ramp-up 10ms, think 1ms, hold 1ms, keys " + keys + ", backend " + name + "\n\nLabel "
			if !strings.HasPrefix(got.stdout, head) {
				t.Error(got.stdout)
			}
			wantContains(t, got.stdout, "\nTOTAL ")
			wantContains(t, got.stdout, "\nwrap lock: 60 of 60 increments\n")
			wantContains(t, got.stdout, "\nwrap no lock: ")
			if got.stderr != "" {
				t.Errorf("stderr %q", got.stderr)
			}
		}
	}
}
