package generate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// Vet returns the problems of a package's directives, or else what is generated for them
// and is not up to date.
func Vet(pass *analysis.Pass) directive.Problems {
	var sources, generatedFiles []*ast.File
	var problems directive.Problems
	directives := false
	for _, f := range pass.Files {
		name := pass.Fset.File(f.FileStart).Name()
		sites, found := directive.Collect(f)
		switch {
		case strings.HasSuffix(name, "_test.go"):
			problems = append(problems, found...)
			for _, s := range sites {
				problems = append(problems, inTest(s))
			}
		case isGenerated(f):
			generatedFiles = append(generatedFiles, f)
		default:
			sources = append(sources, f)
			directives = directives || len(sites) > 0 || len(found) > 0
		}
	}
	if !directives && len(generatedFiles) == 0 {
		return problems
	}
	g := &generator{rel: filepath.Base, check: recheck(pass, sources)}
	for _, f := range sources {
		g.collect(f, pass.Fset.File(f.FileStart).Name())
	}
	paths := map[string]string{}
	for name := range g.qualifiers() {
		paths[name] = strings.Join(g.imported(name), ", ")
		for _, f := range generatedFiles {
			if pkg, ok := pass.TypesInfo.Scopes[f].Lookup(name).(*types.PkgName); ok {
				paths[name] = pkg.Imported().Path()
			}
		}
	}
	unknown := g.bind(paths, pass.Pkg.Imports())
	g.checkAll(unknown)
	if problems = append(problems, g.problems...); len(problems) > 0 {
		return problems // nothing can be generated
	}
	for _, src := range g.sources {
		problems = append(problems, g.missing(pass, src)...)
	}
	if len(problems) > 0 {
		return problems
	}
	for _, src := range g.sources {
		problems = append(problems, g.old(pass, src, len(unknown) == 0)...)
	}
	for _, f := range generatedFiles {
		if !slices.ContainsFunc(g.sources, func(src *source) bool {
			return len(src.sites) > 0 && target(src.path) == pass.Fset.File(f.FileStart).Name()
		}) {
			problems = append(problems, directive.Problem{Pos: f.Package, Message: "the comments for this file are gone: run distlockgen"})
		}
	}
	return problems
}

// recheck checks the types of the sources as the generator sees them: without generated
// files and tests. Errors are expected, because the sources call what is generated.
func recheck(pass *analysis.Pass, sources []*ast.File) directive.Checker {
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Scopes: map[ast.Node]*types.Scope{},
	}
	conf := types.Config{
		Importer: imports(pass.Pkg.Imports()), Error: func(error) {}, Sizes: pass.TypesSizes, GoVersion: pass.Pkg.GoVersion(), FakeImportC: true,
	}
	pkg, _ := conf.Check(pass.Pkg.Path(), pass.Fset, sources, info)
	return directive.Checker{Fset: pass.Fset, Pkg: pkg, Info: info}
}

// imports are the packages that a package imports.
type imports []*types.Package

// Import implements [types.Importer].
func (all imports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	for _, pkg := range all {
		if pkg.Path() == path {
			return pkg, nil
		}
	}
	return nil, fmt.Errorf("%s is not imported", path)
}

// missing returns the directives for which there is no generated code.
func (g *generator) missing(pass *analysis.Pass, src *source) (problems directive.Problems) {
	for _, s := range src.sites {
		if !isDeclared(pass, s.Site) {
			problems = append(problems, directive.Problem{
				Pos: s.Lock.Pos, Message: s.Generated() + " is not generated for " + s.Name().Name + ": run distlockgen",
			})
		}
	}
	return problems
}

// old returns a problem if the generated file is not what would be generated. If it
// lacks an import of a directive, nothing can be generated here.
func (g *generator) old(pass *analysis.Pass, src *source, resolved bool) directive.Problems {
	if len(src.sites) == 0 {
		return nil
	}
	path := target(src.path)
	if resolved {
		have, err := pass.ReadFile(path)
		want, wrong := g.render(src)
		if err == nil && wrong == nil && bytes.Equal(have, want) {
			return nil
		}
	}
	return directive.Problems{{
		Pos: src.sites[0].Lock.Pos, Message: filepath.Base(path) + " is not up to date with the comments of this file: run distlockgen",
	}}
}

// isDeclared reports whether distlockgen has written the code for the directive.
func isDeclared(pass *analysis.Pass, s *directive.Site) bool {
	var obj types.Object
	name := s.Generated()
	if s.Func != nil && s.Func.Recv != nil {
		if method := pass.TypesInfo.Defs[s.Func.Name]; method != nil {
			if sig, ok := method.Type().(*types.Signature); ok {
				obj, _, _ = types.LookupFieldOrMethod(sig.Recv().Type(), true, pass.Pkg, name)
			}
		}
	} else {
		obj = pass.Pkg.Scope().Lookup(name)
	}
	return obj != nil && slices.ContainsFunc(pass.Files, func(f *ast.File) bool {
		return f.FileStart <= obj.Pos() && obj.Pos() < f.FileEnd && isGenerated(f) &&
			target(pass.Fset.File(s.File.FileStart).Name()) == pass.Fset.File(f.FileStart).Name()
	})
}

// isGenerated reports whether distlockgen wrote f.
func isGenerated(f *ast.File) bool {
	return len(f.Comments) > 0 && generated.MatchString(f.Comments[0].List[0].Text+"\n")
}

func inTest(s *directive.Site) directive.Problem {
	return directive.Problem{Pos: s.Lock.Pos, Message: "a directive in a test: nothing is generated for tests"}
}
