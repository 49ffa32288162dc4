package generate

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// names manages the names in one generated file.
type names struct {
	taken   map[string]bool // in the package and in the sites
	local   map[string]bool // in the current function, for variable
	bound   map[string]bool // parameters and receivers, which hide imports
	imports []imported
}

type imported struct {
	name string // "": the last element of the path
	path string
}

func (g *generator) namesOf(src *source) *names {
	n := &names{taken: map[string]bool{}, bound: map[string]bool{}}
	for _, name := range g.check.Pkg.Scope().Names() {
		pos := g.check.Pkg.Scope().Lookup(name).Pos()
		if slices.ContainsFunc(g.sources, func(src *source) bool { return src.has(pos) }) {
			n.taken[name] = true
		}
	}
	for _, s := range src.sites {
		maps.Copy(n.taken, s.mentioned())
		maps.Copy(n.bound, s.Locals())
	}
	scope := g.check.Info.Scopes[src.file]
	for _, name := range scope.Names() {
		switch obj := scope.Lookup(name).(type) {
		case *types.PkgName:
			n.taken[name] = true
			n.add(name, obj.Imported().Path())
		default: // from a dot import
			if n.taken[name] {
				n.add(".", obj.Pkg().Path())
			}
		}
	}
	return n
}

// add imports a package.
func (n *names) add(name, from string) {
	if name == path.Base(from) {
		name = ""
	}
	if i := (imported{name, from}); !slices.Contains(n.imports, i) {
		n.imports = append(n.imports, i)
	}
}

// enter begins a function for the sites. Its variables must not hide their names.
func (n *names) enter(sites ...*site) {
	n.local = map[string]bool{}
	for _, s := range sites {
		maps.Copy(n.local, s.mentioned())
	}
	for _, i := range n.imports {
		n.local[i.declared()] = true
	}
}

// mentioned returns all names in the site.
func (s *site) mentioned() map[string]bool {
	all := map[string]bool{s.Name().Name: true}
	if s.Func != nil {
		for _, name := range strings.Split(s.LockerOf(""), ".") {
			all[name] = true
		}
	}
	nodes := s.types()
	for _, e := range s.Lock.Exprs() {
		nodes = append(nodes, e.Node)
	}
	for _, node := range nodes {
		ast.Inspect(node, func(node ast.Node) bool {
			if id, ok := node.(*ast.Ident); ok {
				all[id.Name] = true
			}
			return true
		})
	}
	return all
}

// types returns the types of the source that appear in the generated code.
func (s *site) types() []ast.Node {
	nodes := []ast.Node{s.Type()}
	if s.Func != nil && s.Func.Recv != nil {
		nodes = append(nodes, s.Func.Recv)
	}
	if s.Interface != nil && s.Interface.TypeParams != nil {
		nodes = append(nodes, s.Interface.TypeParams)
	}
	return nodes
}

// declared returns the name that the import declares.
func (i imported) declared() string { return cmp.Or(i.name, path.Base(i.path)) }

// importing returns a name for a package that the generated code itself needs.
func (n *names) importing(p string) string {
	for _, i := range n.imports {
		if i.path == p && i.name != "." && !n.bound[i.declared()] {
			return i.declared()
		}
	}
	name := n.fresh(path.Base(p))
	n.add(name, p)
	return name
}

// fresh returns a name that is not used in the package or the file.
func (n *names) fresh(name string) string { return unused(name, n.taken) }

// variable returns a name that is not used in this function.
func (n *names) variable(name string) string { return unused(name, n.local) }

func unused(name string, taken map[string]bool) string {
	free := name
	for i := 2; taken[free] || token.IsKeyword(free) || types.Universe.Lookup(free) != nil; i++ {
		free = name + strconv.Itoa(i)
	}
	taken[free] = true
	return free
}
