package api

import (
	"flag"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write api.txt")

const module = "github.com/distlock-go/distlock"

// The exported API is the one in api.txt: it changes on purpose only.
func TestAPI(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	var got []string
	for _, dir := range public(t, root) {
		got = append(got, list(t, root, dir)...)
	}
	golden := filepath.Join(root, "api.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("not in api.txt: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("only in api.txt: %s", line)
		}
	}
	if !t.Failed() && !slices.Equal(got, want) {
		t.Error("api.txt is in another order")
	}
	if t.Failed() {
		t.Log("if the change is wanted: go test ./internal/api -update")
	}
}

// What go doc prints about the package that programs use stays readable.
func TestDocIsShort(t *testing.T) {
	t.Parallel()
	const most = 880
	out, err := exec.CommandContext(t.Context(), "go", "doc", "-all", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(out), "\n"); n > most {
		t.Errorf("go doc -all prints %d lines about %s, more than %d", n, module, most)
	}
}

// public returns the directories of the public packages below root, sorted. Of the nested
// modules only backends, otellock and promlock are among them; examples and commands are not.
func public(t *testing.T, root string) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		dir, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		base := filepath.Base(dir)
		if dir != "." {
			library := filepath.Dir(dir) == "backend" || dir == "otellock" || dir == "promlock"
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && !library {
				return fs.SkipDir
			}
			if base == "internal" || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "example_") {
				return fs.SkipDir
			}
		}
		if p, err := context.ImportDir(name, 0); err == nil && p.Name != "main" {
			dirs = append(dirs, filepath.ToSlash(dir))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(dirs)
	return dirs
}

// context chooses the files, the same ones on every machine.
var context = func() build.Context {
	c := build.Default
	c.GOOS, c.GOARCH = "linux", "amd64"
	return c
}()

// importPath returns that of the package in dir.
func importPath(dir string) string { return path.Join(module, dir) }
