package main

import (
	"flag"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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

// TestWrong checks that go vet reports the same mistakes in comments as the generator, with the
// same words and positions, also in tests; and in other packages what only it reports: uses of
// functions around their locks, and generated code that is not up to date.
func TestWrong(t *testing.T) {
	for _, name := range []string{"wrong", "around"} {
		dir := "../distlockgen/testdata/" + name + "/"
		out, _ := vet(t, dir)
		want, err := os.ReadFile(dir + "want.txt")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(out, dir, ""); got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestRight checks that right comments of many shapes are not reported, whichever way the command
// is run.
func TestRight(t *testing.T) {
	const dir = "../distlockgen/testdata/shop"
	if out, err := vet(t, dir); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), tool, dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("distlockvet without go vet: %v\n%s", err, out)
	}
}

func TestVersion(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), tool, "-version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "distlockvet ") {
		t.Errorf("%v, output %q", err, out)
	}
}
