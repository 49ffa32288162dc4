package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bubbles are the names that a test in virtual time mentions: of the package, and of
// functions of testkit.
var bubbles = []string{"synctest", "Bubble", "BubbleCase", "BubbleWith", "InBubble"}

// A test that sleeps runs in a bubble: in real time a sleep is too short on a slow machine,
// and too long on every other. The linter, which cannot see bubbles, allows time.Sleep in
// the tests of these packages.
func TestSleepsAreInBubbles(t *testing.T) {
	t.Parallel()
	sleepers := 0
	for _, dir := range []string{".", "driver", "internal/test/root", "lockui", "telemetry/otellock"} {
		tests := parseTests(t, dir)
		for name := range tests.funcs {
			if !tests.reaches(name, "Sleep") || !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
				continue
			}
			sleepers++
			if !slices.ContainsFunc(bubbles, func(b string) bool { return tests.reaches(name, b) }) {
				t.Errorf("%s: %s sleeps in real time", dir, name)
			}
			for _, body := range tests.funcs[name] {
				if at := sleepOutside(body); at.IsValid() {
					t.Errorf("%s: %s sleeps outside its bubble", tests.files.Position(at), name)
				}
			}
		}
	}
	if sleepers < 100 {
		t.Errorf("%d tests sleep: the check looks at too few", sleepers)
	}
}

// testCode is the test files of a package.
type testCode struct {
	files *token.FileSet
	funcs map[string][]ast.Node // the functions, methods and variables of a name
}

func parseTests(t *testing.T, dir string) testCode {
	t.Helper()
	c := testCode{token.NewFileSet(), make(map[string][]ast.Node)}
	paths, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(c.files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				c.funcs[d.Name.Name] = append(c.funcs[d.Name.Name], d)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for _, name := range v.Names {
							c.funcs[name.Name] = append(c.funcs[name.Name], v)
						}
					}
				}
			}
		}
	}
	return c
}

// reaches reports whether a function mentions an identifier, itself or in what it mentions.
func (c testCode) reaches(name, ident string) bool {
	seen := make(map[string]bool)
	var look func(name string) bool
	look = func(name string) bool {
		if seen[name] {
			return false
		}
		seen[name] = true
		found := name == ident
		for _, body := range c.funcs[name] {
			ast.Inspect(body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && !found {
					found = look(id.Name)
				}
				return !found
			})
		}
		return found
	}
	return look(name)
}

// sleepOutside returns the position of a call of time.Sleep that stands in the test itself or
// in a subtest, and in no other function literal.
func sleepOutside(body ast.Node) (at token.Pos) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.SelectorExpr:
			if n.Sel.Name == "Sleep" {
				at = n.Pos()
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Run" && len(n.Args) == 2 {
				if sub, ok := n.Args[1].(*ast.FuncLit); ok && !at.IsValid() {
					at = sleepOutside(sub.Body)
				}
			}
		}
		return !at.IsValid()
	})
	return at
}
