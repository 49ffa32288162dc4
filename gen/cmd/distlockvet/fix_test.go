package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestFixes checks what an editor offers for misspelt directives and options: only what was
// certainly meant.
func TestFixes(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), analyzer, "fix")
}

// TestFixOfWhatDoesNotCompile checks that distlockvet -fix mends a package that calls the function
// which a misspelt directive does not generate, at once.
func TestFixOfWhatDoesNotCompile(t *testing.T) {
	const source = `package broken

import (
	"context"

	"github.com/distlock-go/distlock"
)

var locker *distlock.Locker

//DIRECTIVE
func pay(ctx context.Context) error { return nil }

var _ = Pay
`
	dir, err := os.MkdirTemp("../distlockgen/testdata", "broken") //nolint:usetesting // t.TempDir is outside of the module
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "pay.go")
	with := func(directive string) string { return strings.Replace(source, "//DIRECTIVE", directive, 1) }
	if err := os.WriteFile(file, []byte(with("//distlok:lock value:pay keyTimeot:3s retry:2")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.CommandContext(t.Context(), tool, "-fix", "./"+filepath.ToSlash(dir)).CombinedOutput()
	got, err := os.ReadFile(file)
	if err != nil || string(got) != with("//distlock:lock value:pay keyTimeout:3s retryCount:2") {
		t.Fatalf("%v, distlockvet -fix printed\n%s\nand wrote\n%s", err, out, got)
	}
}
