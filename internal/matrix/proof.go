package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// proof is one row's paragraph in the comment of a test.
type proof struct {
	row      int
	backends []string
	outcome  string // what the test shows
	fails    string // the change of the code that made the test fail
	test     string
	dir      string // package of the test, such as ./backend/redislock
}

var (
	starts = regexp.MustCompile(`^Row \d+ \(`)
	format = regexp.MustCompile(`^Row (\d+) \(([a-z, ]+)\): (.+?)\. Fails if (.+)\.$`)
)

// collect returns the proofs in all tests of the module at root.
func collect(root string) ([]proof, error) {
	var proofs []proof
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if dir = filepath.ToSlash(dir); dir != "." {
			dir = "./" + dir
		}
		found, err := proofsIn(file, dir)
		proofs = append(proofs, found...)
		return err
	})
	slices.SortStableFunc(proofs, func(a, b proof) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.dir, b.dir), cmp.Compare(a.test, b.test))
	})
	return proofs, err
}

// proofsIn returns the proofs in the tests of one file.
func proofsIn(file *ast.File, dir string) ([]proof, error) {
	var proofs []proof
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
			continue
		}
		for _, text := range paragraphs(f.Doc.Text()) {
			m := format.FindStringSubmatch(text)
			if m == nil {
				return nil, fmt.Errorf("%s: %s: want \"Row <n> (<backends>): <outcome>. Fails if <change>.\", have %q", dir, f.Name.Name, text)
			}
			n, err := strconv.Atoi(m[1])
			if err != nil {
				return nil, err
			}
			proofs = append(proofs, proof{
				row: n, backends: strings.Split(m[2], ", "), outcome: m[3], fails: m[4], test: f.Name.Name, dir: dir,
			})
		}
	}
	return proofs, nil
}

// paragraphs returns the parts of a doc comment that begin with a row. Each ends before
// the next row or the next empty line.
func paragraphs(doc string) []string {
	var all []string
	open := false
	for line := range strings.Lines(doc) {
		line = strings.TrimSpace(line)
		switch {
		case starts.MatchString(line):
			all, open = append(all, line), true
		case line == "":
			open = false
		case open:
			all[len(all)-1] += " " + line
		}
	}
	return all
}
