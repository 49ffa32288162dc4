package generate

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// Vet returns the problems of a package's directives.
func Vet(pass *analysis.Pass) directive.Problems {
	g := &generator{Checker: directive.Checker{Fset: pass.Fset, Pkg: pass.Pkg, Info: pass.TypesInfo}}
	for _, f := range pass.Files {
		if !isGenerated(f) {
			g.add(f)
		}
	}
	g.checkAll()
	return g.problems
}

// isGenerated reports whether distlockgen wrote f.
func isGenerated(f *ast.File) bool {
	return len(f.Comments) > 0 && generated.MatchString(f.Comments[0].List[0].Text+"\n")
}
