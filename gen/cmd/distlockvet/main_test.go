package main

import (
	"flag"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/gen/internal/generate"
)

// tool is the built command. It is built without the race detector even if the tests
// use it: the go command runs it on every package below, and caches the results for the
// next time.
var tool string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "distlockvet")
	if err != nil {
		log.Print(err)
		return 1
	}
	defer os.RemoveAll(dir)
	tool = filepath.Join(dir, "distlockvet")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		log.Printf("go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// vet runs go vet with the tool.
func vet(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"vet", "-vettool=" + tool}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestWrong checks that go vet reports the same mistakes as the generator, with the
// same words and positions, also in tests.
func TestWrong(t *testing.T) {
	const dir = "../distlockgen/testdata/wrong/"
	out, _ := vet(t, dir)
	want, err := os.ReadFile(dir + "want.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(out, dir, ""); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOld checks that a comment is reported whose generated code is missing or was written
// for another one, and generated code whose comment is gone.
func TestOld(t *testing.T) {
	const source = `package old

import (
	"context"

	"github.com/distlock-go/distlock"
)

var locker *distlock.Locker

//distlock:lock value:pay paramLock keyFormat:javakey.Aspect
func pay(ctx context.Context, order string) error { return nil }
`
	// The directory is inside the module, so that the workspace has it.
	dir, err := os.MkdirTemp("../distlockgen/testdata", "old") //nolint:usetesting // t.TempDir is outside
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "pay.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(source)
	files, err := generate.Packages(dir, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := f.Write(false); err != nil {
			t.Fatal(err)
		}
	}
	pattern := "./" + filepath.ToSlash(dir)
	if out, err := vet(t, pattern); err != nil {
		t.Fatalf("up to date: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), tool, pattern).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("distlockvet without go vet: %v\n%s", err, out)
	}
	for _, change := range []struct{ from, to, want string }{
		{" paramLock", " paramLock keyTimeout:1m", "pay.go:11:1: pay_distlock.go is not up to date"},
		{"javakey.Aspect", "digest.Short", "pay.go:11:1: pay_distlock.go is not up to date"}, // a package that nothing imports
		{"package old", "//distlock:defaults maxWait:3s\n\npackage old", "pay.go:13:1: pay_distlock.go is not up to date"},
		{"order string", "item string", "pay.go:11:1: pay_distlock.go is not up to date"},
		{"//distlock:lock value:pay paramLock keyFormat:javakey.Aspect\n", "", "pay_distlock.go:3:1: the comments for this file are gone"},
	} {
		write(strings.Replace(source, change.from, change.to, 1))
		if out, err := vet(t, pattern); err == nil || !strings.Contains(out, change.want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s in place of %s: %v\n%swant %s", change.to, change.from, err, out, change.want)
		}
	}
	write(source)
	if err := os.Remove(filepath.Join(dir, "pay_distlock.go")); err != nil {
		t.Fatal(err)
	}
	if out, err := vet(t, pattern); err == nil || !strings.Contains(out, "pay.go:11:1: pay_distlock.go is not up to date") {
		t.Errorf("without the generated file: %v\n%s", err, out)
	}
}

func TestVersion(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), tool, "-version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "distlockvet ") {
		t.Errorf("%v, output %q", err, out)
	}
}
