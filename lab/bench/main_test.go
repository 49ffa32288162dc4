package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/sqltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqltest.Main(m)) }

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

func mustParse(t *testing.T, args ...string) *config {
	t.Helper()
	c, err := parseFlags(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
