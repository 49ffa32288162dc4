// Package generate writes the functions for //distlock:lock comments, and says which
// files are old.
package generate

import (
	"errors"
	"fmt"
	"go/parser"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// Packages returns the files to write for the packages that match the patterns, as the go
// command in dir understands them, or all errors in their directives.
func Packages(dir string, patterns []string) ([]*Output, error) {
	base, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	rel := func(file string) string {
		if r, err := filepath.Rel(base, file); err == nil && filepath.IsLocal(r) {
			return r
		}
		return file
	}
	listed, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedFiles}, patterns...)
	if err != nil {
		return nil, err
	}
	var files []*Output
	var errs []error
	for _, p := range listed {
		g, err := open(p, rel)
		if g != nil {
			var made []*Output
			made, err = g.files()
			files = append(files, made...)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return files, nil
}

// traces are in each file that may have a directive, also a misspelt one, so that most
// packages need not be loaded.
var traces = regexp.MustCompile(`(?i)dist?lo?c?k|@distributedlock`)

// open loads a package and checks its directives. It returns nil if there can be none. Each
// package is loaded separately, because its generated files are hidden while it is loaded, and
// other packages may need them.
func open(listed *packages.Package, rel func(string) string) (*generator, error) {
	if len(listed.GoFiles) == 0 {
		var errs []error
		for _, e := range listed.Errors {
			errs = append(errs, e)
		}
		return nil, errors.Join(errs...)
	}
	home := filepath.Dir(listed.GoFiles[0])
	names, err := fs.Glob(os.DirFS(home), "*.go") // for all build constraints
	if err != nil {
		return nil, err
	}
	g := &generator{rel: rel, old: map[string]bool{}}
	overlay, traced := map[string][]byte{}, false
	for _, name := range names {
		path := filepath.Join(home, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, suffix) && generated.Match(text) {
			g.old[path], overlay[path] = true, []byte("package "+listed.Name+"\n")
		} else {
			traced = traced || traces.Match(text)
		}
	}
	if !traced && len(g.old) == 0 {
		return nil, nil //nolint:nilnil // nothing to do is not an error
	}
	p, err := load(home, overlay)
	if err != nil {
		return nil, err
	}
	g.Checker = directive.Checker{Fset: p.Fset, Pkg: p.Types, Info: p.TypesInfo}
	for _, f := range p.Syntax {
		g.add(f)
	}
	built := map[string]bool{}
	for _, src := range g.sources {
		built[src.path] = true
	}
	for _, name := range names {
		path := filepath.Join(home, name)
		if strings.HasSuffix(name, testSuffix) {
			f, err := parser.ParseFile(p.Fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err == nil { // or else the go command reports it if it builds the file
				g.add(f)
			}
		} else if !built[path] && !g.old[path] {
			g.leaveOut(path)
		}
	}
	g.checkAll()
	return g, nil
}

// load loads the package without its generated files. Type errors are expected, because
// the source calls functions that are not generated yet.
func load(home string, overlay map[string][]byte) (*packages.Package, error) {
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
