package matrix

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// proof is one row in the comment of a test.
type proof struct {
	row      int
	backends []string
	test     string
}

var (
	starts = regexp.MustCompile(`(?m)^Row \d+`)
	format = regexp.MustCompile(`(?m)^Row (\d+) \(([a-z, ]+)\): .`)
)

// collect returns the proofs in all tests below root.
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
		found, err := proofsIn(file)
		proofs = append(proofs, found...)
		return err
	})
	return proofs, err
}

// proofsIn returns the proofs in the tests of one file.
func proofsIn(file *ast.File) ([]proof, error) {
	var proofs []proof
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
			continue
		}
		all := format.FindAllStringSubmatch(f.Doc.Text(), -1)
		if len(all) != len(starts.FindAllString(f.Doc.Text(), -1)) {
			return nil, fmt.Errorf("%s: want \"Row <n> (<backends>): <outcome>\" at the beginning of a line", f.Name.Name)
		}
		for _, m := range all {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				return nil, err
			}
			proofs = append(proofs, proof{row: n, backends: strings.Split(m[2], ", "), test: f.Name.Name})
		}
	}
	return proofs, nil
}
