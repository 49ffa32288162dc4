package api

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notRun are the packages with an example that is only compiled: it needs a server, or a
// *testing.T.
var notRun = []string{"backend/etcdlock", "backend/sqllock/pglisten", "backend/zklock", "locktest"}

// Each public package has an example of the whole package, which go test runs.
func TestPackageExamples(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	for _, dir := range public(t, root) {
		switch has, runs := packageExample(t, filepath.Join(root, dir)); {
		case !has:
			t.Errorf("%s has no Example or Example_suffix", dir)
		case runs == slices.Contains(notRun, dir):
			t.Errorf("%s: go test runs its example: %t, and notRun says otherwise", dir, runs)
		}
	}
}

// packageExample reports whether a package has an example of the whole package, and
// whether go test runs one: it does if the example says what it prints.
func packageExample(t *testing.T, dir string) (has, runs bool) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	fset := token.NewFileSet()
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	for _, e := range doc.Examples(files...) {
		if e.Name == "" || strings.HasPrefix(e.Name, "_") {
			has = true
			runs = runs || e.Output != "" || e.EmptyOutput
		}
	}
	return has, runs
}
