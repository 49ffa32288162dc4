package generate

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// qualifier is the name of a package in an expression of a directive. The source file
// does not import the package, because an import that only a comment needs does not
// compile.
type qualifier struct {
	name  string
	uses  map[string]bool  // names behind the dot
	at    *directive.Expr  // the first expression with it
	files map[*source]bool // of the expressions
}

// qualifiers returns the names of packages that the sources do not import, by name.
func (g *generator) qualifiers() map[string]*qualifier {
	all := map[string]*qualifier{}
	for _, src := range g.sources {
		for _, s := range src.sites {
			for _, e := range s.Lock.Exprs() {
				for name, uses := range g.unknown(s, e) {
					q := all[name]
					if q == nil {
						q = &qualifier{name: name, uses: map[string]bool{}, at: e, files: map[*source]bool{}}
						all[name] = q
					}
					maps.Copy(q.uses, uses)
					q.files[src] = true
				}
			}
		}
	}
	return all
}

// unknown returns the names before a dot in e that nothing declares, with the names
// behind the dot.
func (g *generator) unknown(s *site, e *directive.Expr) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	local := s.Visible(e)
	ast.Inspect(e.Node, func(node ast.Node) bool {
		if _, is := node.(*ast.FuncLit); is {
			return false // it may declare names of its own
		}
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := selector.X.(*ast.Ident)
		if !ok || local[x.Name] || types.Universe.Lookup(x.Name) != nil || g.check.Pkg.Scope().Lookup(x.Name) != nil ||
			g.check.Info.Scopes[s.File].Lookup(x.Name) != nil {
			return true
		}
		if all[x.Name] == nil {
			all[x.Name] = map[string]bool{}
		}
		all[x.Name][selector.Sel.Name] = true
		return true
	})
	return all
}

// uses reports whether nothing declares the name in an expression of s.
func (g *generator) uses(s *site, name string) bool {
	return slices.ContainsFunc(s.Lock.Exprs(), func(e *directive.Expr) bool { return g.unknown(s, e)[name] != nil })
}

// bind declares the names in the sources that use them, for those of the packages that
// have the paths. It returns the names that are left.
func (g *generator) bind(paths map[string]string, pkgs []*types.Package) []string {
	var left []string
	for name, q := range g.qualifiers() {
		i := slices.IndexFunc(pkgs, func(p *types.Package) bool { return p.Path() == paths[name] })
		if i < 0 {
			left = append(left, name)
			continue
		}
		for src := range q.files {
			g.check.Info.Scopes[src.file].Insert(types.NewPkgName(src.file.Name.Pos(), g.check.Pkg, name, pkgs[i]))
		}
	}
	return left
}

// imported returns the paths of the packages that files of the package import under
// the name.
func (g *generator) imported(name string) []string {
	var paths []string
	for _, src := range g.sources {
		if pkg, ok := g.check.Info.Scopes[src.file].Lookup(name).(*types.PkgName); ok {
			paths = append(paths, pkg.Imported().Path())
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// find returns the import path of the package that each qualifier names: one that
// another file of the package imports under that name, or else one of the program, its
// requirements and the standard library that has the name and declares what the
// expressions use. If there are several, it returns all of them, with commas.
func (g *generator) find(wanted map[string]*qualifier) (map[string]string, error) {
	found := map[string]string{}
	candidates := map[string][]string{}
	for name := range wanted {
		candidates[name] = g.imported(name)
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(candidates)), func(paths []string) bool { return len(paths) == 0 }) {
		if err := g.search(candidates); err != nil {
			return nil, err
		}
	}
	for name, q := range wanted {
		paths := candidates[name]
		if len(paths) > 1 {
			var err error
			if paths, err = declaring(g.home, paths, q.uses); err != nil {
				return nil, err
			}
		}
		if len(paths) > 0 {
			found[name] = strings.Join(paths, ", ")
		}
	}
	return found, nil
}

// search adds the packages with the names that have no candidates yet.
func (g *generator) search(candidates map[string][]string) error {
	listed, err := packages.Load(&packages.Config{Dir: g.home, Mode: packages.NeedName}, "all", "std", kitPath, kitPath+"/javakey")
	if err != nil {
		return err
	}
	searched := map[string]bool{}
	for name, paths := range candidates {
		searched[name] = len(paths) == 0
	}
	for _, p := range listed {
		if searched[p.Name] && p.PkgPath != g.check.Pkg.Path() && importable(p.PkgPath, g.check.Pkg.Path()) && !slices.Contains(candidates[p.Name], p.PkgPath) {
			candidates[p.Name] = append(candidates[p.Name], p.PkgPath)
		}
	}
	for _, paths := range candidates {
		slices.Sort(paths)
	}
	return nil
}

// importable reports whether a package may import the one at path.
func importable(importPath, by string) bool {
	if strings.HasPrefix(importPath, "vendor/") {
		return false
	}
	i := strings.LastIndex("/"+importPath+"/", "/internal/")
	return i < 0 || i > 0 && strings.HasPrefix(by+"/", importPath[:i])
}

// declaring returns those of the packages that declare all names.
func declaring(dir string, paths []string, names map[string]bool) ([]string, error) {
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.LoadTypes}, paths...)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range loaded {
		missing := false
		for name := range names {
			missing = missing || p.Types == nil || p.Types.Scope().Lookup(name) == nil
		}
		if !missing {
			all = append(all, p.PkgPath)
		}
	}
	slices.Sort(all)
	return all, nil
}

// importsFile is the name of a file that exists only while a package is loaded, and
// imports what only its directives name.
func importsFile(home string) string { return filepath.Join(home, "imports"+suffix) }

// importsText returns the text of that file.
func importsText(name string, paths map[string]string) []byte {
	var b strings.Builder
	b.WriteString("package " + name + "\n")
	for _, p := range slices.Sorted(maps.Values(paths)) {
		fmt.Fprintf(&b, "import _ %q\n", p)
	}
	return []byte(b.String())
}
