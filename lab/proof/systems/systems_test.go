package systems_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// load type-checks packages of the workspace, and everything that they import, from
// source. Compiling for another system takes twenty times as long.
func load(t *testing.T, env []string, tests bool, overlay map[string][]byte, patterns ...string) (n int, err error) {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax,
		Context: t.Context(), Dir: filepath.Join("..", "..", ".."), Tests: tests, Overlay: overlay,
		Env: append(os.Environ(), append(env, "CGO_ENABLED=0")...),
	}, patterns...)
	errs := []error{err}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
	})
	return len(pkgs), errors.Join(errs...)
}

// TestCompiles: all modules of the workspace compile where an int has 32 bits, and
// everything except the tests compiles on systems other than Linux.
func TestCompiles(t *testing.T) {
	testmode.Long(t)
	for name, c := range map[string]struct {
		env   []string
		tests bool
	}{
		"386":     {[]string{"GOARCH=386"}, true},
		"windows": {[]string{"GOOS=windows", "GOARCH=amd64"}, false},
		"darwin":  {[]string{"GOOS=darwin", "GOARCH=arm64"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := load(t, c.env, c.tests, nil, "work")
			if err != nil {
				t.Error(err)
			}
			if n < 40 {
				t.Errorf("only %d packages", n)
			}
		})
	}
}

// TestNotices adds a test that overflows where an int has 32 bits.
func TestNotices(t *testing.T) {
	testmode.Long(t)
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "internal", "stall", "large_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string][]byte{path: []byte("package stall_test\n\nvar _ int = 1 << 40\n")}
	for arch, fails := range map[string]bool{"386": true, "amd64": false} {
		if _, err := load(t, []string{"GOARCH=" + arch}, true, overlay, "./internal/test/stall"); (err != nil) != fails {
			t.Errorf("%s: error %v", arch, err)
		}
	}
}
