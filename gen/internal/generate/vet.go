package generate

import (
	"go/ast"
	"go/format"
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
	g := &generator{rel: filepath.Base, check: directive.Checker{Fset: pass.Fset, Pkg: pass.Pkg, Info: pass.TypesInfo}}
	for _, f := range sources {
		g.collect(f, pass.Fset.File(f.FileStart).Name())
	}
	g.checkAll()
	if problems = append(problems, g.problems...); len(problems) > 0 {
		return problems // nothing can be generated
	}
	for _, src := range g.sources {
		if len(src.sites) > 0 && !g.current(pass, src) {
			problems = append(problems, directive.Problem{
				Pos:     src.sites[0].Lock.Pos,
				Message: filepath.Base(target(src.path)) + " is not up to date with the comments of this file: run distlockgen",
			})
		}
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

func inTest(s *directive.Site) directive.Problem {
	return directive.Problem{Pos: s.Lock.Pos, Message: "a directive in a test: nothing is generated for tests"}
}
