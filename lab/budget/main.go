// Command budget prints how large the project is, by area, what each area may have, and what
// it should have. It fails if one has more than it may. A change that needs more raises the
// limit in the table, with its reason in the commit; one that needs less lowers it towards the
// goal. Generated code is not counted.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// around are the folders of Go code that is not the product: the suite, kits of tests,
// examples, and what measures and proves.
var around = []string{"locktest/", "internal/test/", "internal/cookbook/", "examples/", "example_service/", "lab/"}

// size is what is counted.
type size struct {
	product, around, tests int // lines of Go
	words                  int // of the pages, without their Chinese form
	entries                int // files and folders of the root
	root, driver           api
}

func main() {
	list, err := exec.Command("git", "ls-files").Output()
	if err != nil {
		log.Fatal(err)
	}
	s, err := measure(os.DirFS("."), strings.Fields(string(list)))
	if err != nil {
		log.Fatal(err)
	}
	if !s.write(os.Stdout) {
		os.Exit(1)
	}
}

// write prints the table, and reports whether all is within its limit.
func (s size) write(w io.Writer) bool {
	within := true
	for _, row := range []struct {
		area             string
		has, limit, goal int
	}{
		{"product, lines of Go without tests", s.product, 39_100, 34_000},
		{"around it: suite, kits, examples, lab", s.around, 16_963, 13_500},
		{"tests, lines of Go", s.tests, 67_015, 60_000},
		{"pages, words without Chinese", s.words, 40_000, 40_000},
		{"entries of the root", s.entries, 68, 70},
		{"exported names of distlock", s.root.names, 138, 140},
		{"exported names of driver", s.driver.names, 100, 100},
		{"functions of distlock with 5 or more parameters, per 1,000", 1000 * s.root.long / max(1, s.root.functions), 10, 10},
	} {
		note := ""
		switch {
		case row.has > row.limit:
			note, within = "  over", false
		case row.limit > row.goal:
			note = fmt.Sprintf("  goal %d", row.goal)
		}
		_, _ = fmt.Fprintf(w, "%-60s %6d of %6d%s\n", row.area, row.has, row.limit, note)
	}
	return within
}

// measure counts files.
func measure(repo fs.FS, files []string) (s size, err error) {
	entries := map[string]bool{}
	for _, name := range files {
		top, _, _ := strings.Cut(name, "/")
		entries[top] = true
		text, err := fs.ReadFile(repo, name)
		if err != nil {
			return s, err
		}
		lines := bytes.Count(text, []byte("\n"))
		switch {
		case strings.HasSuffix(name, ".md") && !strings.HasSuffix(name, ".zh-CN.md"):
			s.words += len(bytes.Fields(text))
		case path.Ext(name) != ".go" || bytes.HasPrefix(text, []byte("// Code generated")):
		case strings.HasSuffix(name, "_test.go"), strings.Contains(name, "/testdata/"):
			s.tests += lines
		case slices.ContainsFunc(around, func(folder string) bool { return strings.HasPrefix(name, folder) }):
			s.around += lines
		default:
			s.product += lines
			switch path.Dir(name) {
			case ".":
				err = s.root.add(text)
			case "driver":
				err = s.driver.add(text)
			}
			if err != nil {
				return s, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	s.entries = len(entries)
	return s, nil
}

// api is what a reader of a package meets.
type api struct {
	names     int // exported: types, functions, methods, fields, constants, variables
	functions int
	long      int // functions with 5 or more parameters
}

// add counts a file.
func (a *api) add(text []byte) error {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			a.functions++
			if n.Type.Params.NumFields() >= 5 {
				a.long++
			}
			if n.Recv == nil || ast.IsExported(strings.TrimLeft(types.ExprString(n.Recv.List[0].Type), "*")) {
				a.count(n.Name)
			}
			return false
		case *ast.TypeSpec:
			a.count(n.Name)
			switch t := n.Type.(type) {
			case *ast.StructType:
				a.members(n, t.Fields)
			case *ast.InterfaceType:
				a.members(n, t.Methods)
			}
			return false
		case *ast.ValueSpec:
			a.count(n.Names...)
			return false
		default:
			return true
		}
	})
	return nil
}

// members counts the fields or methods of an exported type.
func (a *api) members(t *ast.TypeSpec, list *ast.FieldList) {
	for _, field := range list.List {
		if t.Name.IsExported() {
			a.count(field.Names...)
		}
	}
}

func (a *api) count(names ...*ast.Ident) {
	for _, name := range names {
		if name.IsExported() {
			a.names++
		}
	}
}
