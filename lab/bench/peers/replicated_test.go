package main

import (
	"io"
	"strings"
	"testing"
)

// Without a redis-server to start, the other scenarios are measured. It is an error if
// there are none.
func TestReplicatedIsLeftOut(t *testing.T) {
	url := server(t)
	t.Setenv("PATH", "")
	var stdout, stderr strings.Builder
	args := []string{"-redis", url, "-short", "-slice", "20ms", "-peers", "bare"}
	if code := run(t.Context(), append(args, "-only", "F2,F16"), &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr.String())
	}
	if !strings.Contains(stderr.String(), "F16 is left out: ") || strings.Contains(stdout.String(), "F16") ||
		!strings.Contains(stdout.String(), "F2 ") {
		t.Errorf("%s\n%s", stderr.String(), stdout.String())
	}

	stderr.Reset()
	if code := run(t.Context(), append(args, "-only", "F16"), io.Discard, &stderr); code != 1 ||
		!strings.HasPrefix(stderr.String(), "peers: F16: ") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
