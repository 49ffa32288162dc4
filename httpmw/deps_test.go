package httpmw_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestDependencies keeps the package to the standard library, the root package and
// what that imports.
func TestDependencies(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(path, "/")
			own := path == "github.com/distlock-go/distlock" || path == "github.com/distlock-go/distlock/internal/keyenc"
			if !own && (strings.Contains(first, ".") || path == "testing") {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
