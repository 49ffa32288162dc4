package generate

import (
	"go/ast"
	"go/format"
	"go/token"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// Vet returns the problems of a package's directives, or else what is generated for them
// and is not up to date.
func Vet(pass *analysis.Pass) directive.Problems {
	g := &generator{
		Checker: directive.Checker{Fset: pass.Fset, Pkg: pass.Pkg, Info: pass.TypesInfo},
		rel:     filepath.Base, old: map[string]token.Pos{},
	}
	for _, f := range pass.Files {
		if isGenerated(f) {
			g.old[pass.Fset.File(f.FileStart).Name()] = f.Package
		}
		g.add(f)
	}
	g.checkAll()
	if len(g.problems) > 0 {
		return g.problems // nothing can be generated
	}
	for _, src := range g.sources {
		if len(src.sites) > 0 && !g.current(pass, src) {
			g.problem(src.sites[0].Lock.Pos, g.rel(target(src.path))+" is not up to date with the comments of this file: run distlockgen")
		}
	}
	for _, path := range g.stale() {
		g.problem(g.old[path], "the comments for this file are gone: run distlockgen")
	}
	return g.problems
}

// current reports whether the generated file for src declares what would be generated.
// The compiler checks its imports.
func (g *generator) current(pass *analysis.Pass, src *source) bool {
	have, err := pass.ReadFile(target(src.path))
	if err != nil {
		return false
	}
	head, body := g.render(src)
	want, err := format.Source([]byte(head + body))
	return err == nil && declarations(have) == declarations(want)
}

// declarations returns a generated file without its imports.
func declarations(text []byte) string {
	before, rest, _ := strings.Cut(string(text), "import (\n")
	_, after, _ := strings.Cut(rest, "\n)\n")
	return before + after
}

// isGenerated reports whether distlockgen wrote f.
func isGenerated(f *ast.File) bool {
	return len(f.Comments) > 0 && generated.MatchString(f.Comments[0].List[0].Text+"\n")
}
