package generate

import (
	"errors"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// testSuffix ends the names of tests, for which nothing is generated.
const testSuffix = "_test.go"

// generator writes the files of one package.
type generator struct {
	directive.Checker

	home     string // the directory of the package; "" if cgo's files are not looked for
	rel      func(file string) string
	sources  []*source
	old      map[string]bool // the generated files
	defaults []*ast.Comment
	problems directive.Problems
}

// source is a source file, with or without directives.
type source struct {
	path  string
	file  *ast.File
	sites []*directive.Site
}

func (g *generator) problem(pos token.Pos, text string) {
	g.problems = append(g.problems, directive.Problem{Pos: pos, Message: text})
}

// add adds a file of the package, unless it is generated.
func (g *generator) add(f *ast.File) {
	path := g.Fset.File(f.FileStart).Name()
	if g.old[path] {
		return
	}
	sites, defaults, problems := directive.Collect(f)
	g.problems = append(g.problems, problems...)
	if strings.HasSuffix(path, testSuffix) {
		for _, s := range sites {
			defaults = append(defaults, s.Comment)
		}
		for _, comment := range defaults {
			g.problem(comment.Pos(), "a directive in a test: nothing is generated for tests")
		}
		return
	}
	if len(sites) > 0 && g.home != "" && filepath.Dir(path) != g.home {
		g.problem(sites[0].Comment.Pos(), "the file is rewritten before it is compiled (cgo): move the function to another one")
	}
	g.sources = append(g.sources, &source{path, f, sites})
	g.defaults = append(g.defaults, defaults...)
}

// checkAll reads and checks the directives of all sources, and that all methods of an interface
// name the same type.
func (g *generator) checkAll() {
	var all []*directive.Site
	for _, src := range g.sources {
		all = append(all, src.sites...)
	}
	g.problems = append(g.problems, directive.Read(all, g.defaults)...)
	decorators := map[*ast.TypeSpec]string{}
	for _, src := range g.sources {
		for _, s := range src.sites {
			g.problems = append(g.problems, g.Check(s)...)
			if s.Func != nil || s.Lock.As == "" {
				continue
			}
			if first := decorators[s.Interface]; first != "" && first != s.Lock.As {
				g.problem(s.Lock.Pos, "as: "+s.Lock.As+", but another method of "+s.Interface.Name.Name+" says "+first)
			}
			decorators[s.Interface] = s.Lock.As
		}
	}
}

// failure returns all problems, or nil.
func (g *generator) failure() error {
	if len(g.problems) > 0 {
		return errors.New(g.problems.Text(g.Fset, g.rel))
	}
	return nil
}

// stale returns the generated files without a source. A source that exists but is not
// part of this build keeps its file.
func (g *generator) stale() []string {
	var gone []string
	for _, path := range slices.Sorted(maps.Keys(g.old)) {
		i := slices.IndexFunc(g.sources, func(src *source) bool { return target(src.path) == path })
		if i < 0 {
			if _, err := os.Stat(strings.TrimSuffix(path, suffix) + ".go"); err != nil {
				gone = append(gone, path)
			}
		} else if len(g.sources[i].sites) == 0 {
			gone = append(gone, path)
		}
	}
	return gone
}
