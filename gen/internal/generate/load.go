// Package generate writes the functions for //distlock:lock comments, and says which
// files are old.
package generate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// Packages returns the files to write for the packages that match the patterns, as the go
// command in dir understands them, or all errors in their directives.
func Packages(dir string, patterns []string) ([]*Output, error) {
	listed, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedFiles}, patterns...)
	if err != nil {
		return nil, err
	}
	var files []*Output
	var errs []error
	for _, p := range listed {
		made, err := inPackage(dir, p)
		files, errs = append(files, made...), append(errs, err)
	}
	return files, errors.Join(errs...)
}

// inPackage handles one package. Each package is loaded separately, because its
// generated files are hidden while it is loaded, and other packages may need them.
func inPackage(dir string, listed *packages.Package) ([]*Output, error) {
	if len(listed.GoFiles) == 0 {
		var errs []error
		for _, e := range listed.Errors {
			errs = append(errs, e)
		}
		return nil, errors.Join(errs...)
	}
	home := filepath.Dir(listed.GoFiles[0])
	old, err := own(home)
	if err != nil {
		return nil, err
	}
	tests, err := filesIn(home, "_test.go")
	if err != nil {
		return nil, err
	}
	candidates := slices.DeleteFunc(slices.Concat(listed.GoFiles, tests), func(f string) bool { return slices.Contains(old, f) })
	if mentioned, err := mentions(candidates); err != nil || !mentioned && len(old) == 0 {
		return nil, err
	}
	rel := func(file string) string {
		base, err := filepath.Abs(dir)
		if err != nil {
			return file
		}
		if r, err := filepath.Rel(base, file); err == nil && filepath.IsLocal(r) {
			return r
		}
		return file
	}
	p, err := load(home, old, listed.Name)
	if err != nil {
		return nil, err
	}
	g := &generator{home: home, rel: rel, check: directive.Checker{Fset: p.Fset, Pkg: p.Types, Info: p.TypesInfo}}
	for _, f := range p.Syntax {
		if file := p.Fset.File(f.FileStart).Name(); !slices.Contains(old, file) {
			g.collect(f, file)
		}
	}
	g.checkAll()
	g.collectTests(tests)
	made, err := g.files()
	if err != nil {
		return nil, err
	}
	if len(g.problems) > 0 {
		return nil, errors.New(strings.TrimSuffix(g.problems.Text(g.check.Fset, rel), "\n"))
	}
	return append(made, g.stale(old, made)...), nil
}

// mentions reports whether one of the files may have a directive, so that most packages
// need not be loaded. It must also find misspelt ones.
func mentions(files []string) (bool, error) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		lower := bytes.ToLower(text)
		for _, trace := range []string{"distlock", "@distributedlock", "lock:", ":lock"} {
			if bytes.Contains(lower, []byte(trace)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// load loads the package without its generated files. Type errors are expected, because
// the source calls functions that are not generated yet.
func load(home string, old []string, name string) (*packages.Package, error) {
	overlay := map[string][]byte{}
	for _, file := range old {
		overlay[file] = []byte("package " + name + "\n")
	}
	loaded, err := packages.Load(&packages.Config{Dir: home, Mode: packages.LoadSyntax, Overlay: overlay}, ".")
	if err != nil {
		return nil, err
	}
	if len(loaded) != 1 {
		return nil, fmt.Errorf("%s: %d packages, not one", home, len(loaded))
	}
	p := loaded[0]
	var errs []error
	for _, e := range p.Errors {
		if e.Kind == packages.ParseError || len(p.Syntax) == 0 {
			errs = append(errs, e)
		}
	}
	if len(errs) == 0 && (p.Types == nil || p.TypesInfo == nil) {
		errs = append(errs, fmt.Errorf("%s: no types", home))
	}
	return p, errors.Join(errs...)
}
