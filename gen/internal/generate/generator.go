package generate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/imports"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// generator writes the files of one package.
type generator struct {
	home     string // the directory of the package; "" if cgo's files are not looked for
	rel      func(file string) string
	check    directive.Checker
	sources  []*source
	problems directive.Problems
}

// source is a source file, with or without directives.
type source struct {
	path  string
	file  *ast.File
	sites []*site
}

// has reports whether the position is in the file.
func (src *source) has(pos token.Pos) bool {
	return src.file.FileStart <= pos && pos < src.file.FileEnd
}

// site is a function with a valid directive.
type site struct {
	*directive.Site
	sig *directive.Signature
}

func (g *generator) collect(f *ast.File, path string) {
	src := &source{path: path, file: f}
	sites, problems := directive.Collect(f)
	for _, s := range sites {
		src.sites = append(src.sites, &site{Site: s})
	}
	if len(problems) == 0 && len(src.sites) > 0 && g.home != "" && filepath.Dir(path) != g.home {
		problems = append(problems, directive.Problem{
			Pos: src.sites[0].Lock.Pos, Message: "the file is rewritten before it is compiled (cgo): move the function to another one",
		})
	}
	g.problems = append(g.problems, problems...)
	g.sources = append(g.sources, src)
}

// checkAll checks the directives of all sources.
func (g *generator) checkAll() {
	for _, src := range g.sources {
		for _, s := range src.sites {
			var problems directive.Problems
			s.sig, problems = g.check.Check(s.Site)
			g.problems = append(g.problems, problems...)
		}
		g.sameDecorator(src)
	}
}

// sameDecorator checks that all methods of an interface name the same type.
func (g *generator) sameDecorator(src *source) {
	names := map[*ast.TypeSpec]*site{}
	for _, s := range src.sites {
		if s.Func != nil || s.Lock.As == "" {
			continue
		}
		first, ok := names[s.Interface]
		if !ok {
			names[s.Interface] = s
		} else if first.Lock.As != s.Lock.As {
			g.problems = append(g.problems, directive.Problem{
				Pos: s.Lock.Pos, Message: "as: " + s.Lock.As + ", but another method of " + s.Interface.Name.Name + " says " + first.Lock.As,
			})
		}
	}
}

// collectTests reports directives in tests, because nothing is generated for tests.
func (g *generator) collectTests(files []string) {
	for _, path := range files {
		f, err := parser.ParseFile(g.check.Fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue // the go command reports the error if it builds the file
		}
		sites, problems := directive.Collect(f)
		g.problems = append(g.problems, problems...)
		for _, s := range sites {
			g.problems = append(g.problems, inTest(s))
		}
	}
}

// files returns the generated files, unless there are problems.
func (g *generator) files() ([]*Output, error) {
	if len(g.problems) > 0 {
		return nil, nil
	}
	var made []*Output
	for _, src := range g.sources {
		if len(src.sites) == 0 {
			continue
		}
		content, err := g.finish(src)
		if err != nil {
			return nil, err
		}
		path := target(src.path)
		made = append(made, &Output{path: path, shown: g.rel(path), content: content})
	}
	return made, nil
}

// finish returns the content of the generated file for src. It adds the packages that only
// the directives name, and reports names of which there is no package.
func (g *generator) finish(src *source) ([]byte, error) {
	head, body := g.render(src)
	content, err := imports.Process(target(src.path), []byte(head+body), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: what would be generated is not Go: %w\n%s", g.rel(src.path), err, head+body)
	}
	made, err := parser.ParseFile(token.NewFileSet(), "", content, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, s := range src.sites {
		for _, e := range s.Lock.Exprs() {
			for _, x := range g.check.Unknown(s.Site, e) {
				if !slices.ContainsFunc(made.Imports, func(spec *ast.ImportSpec) bool { return declares(spec, x.Name) }) {
					g.problems = append(g.problems, directive.Problem{Pos: e.At(x.Pos()), Message: "undefined: " + x.Name})
				}
			}
		}
	}
	return content, nil
}

// declares reports whether an import may declare the name. An import without a name of its
// own has the package's name in its path.
func declares(spec *ast.ImportSpec, name string) bool {
	if spec.Name != nil {
		return spec.Name.Name == name
	}
	return strings.Contains(spec.Path.Value, name)
}

// stale returns the generated files without a source. A source that exists but is not
// part of this build keeps its file.
func (g *generator) stale(old []string, made []*Output) []*Output {
	var gone []*Output
	for _, path := range old {
		from := strings.TrimSuffix(path, suffix) + ".go"
		if slices.ContainsFunc(made, func(o *Output) bool { return o.path == path }) {
			continue
		}
		_, err := os.Stat(from)
		if err != nil || slices.ContainsFunc(g.sources, func(s *source) bool { return s.path == from }) {
			gone = append(gone, &Output{path: path, shown: g.rel(path)})
		}
	}
	return gone
}
