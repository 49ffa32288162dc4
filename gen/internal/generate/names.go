package generate

import (
	"cmp"
	"fmt"
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
	pkg     *types.Scope
	file    *types.Scope // imports of the source
	written map[string]bool
	taken   map[string]bool
	local   map[string]bool // names taken in the current function, for variable
	bound   map[string]bool // parameters and receivers, which hide imports
	imports []imported
}

type imported struct {
	name, path string
	spelled    bool // the import declares the name
}

func (g *generator) namesOf(src *source) *names {
	n := &names{
		pkg: g.check.Pkg.Scope(), file: g.check.Info.Scopes[src.file],
		written: map[string]bool{}, taken: map[string]bool{}, bound: map[string]bool{},
	}
	for _, name := range n.pkg.Names() {
		n.taken[name] = true
	}
	for _, spec := range src.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && spec.Name != nil {
			n.written[p] = true
		}
	}
	for _, s := range src.sites {
		n.learn(s)
	}
	for _, s := range src.sites {
		for _, node := range s.types() {
			n.use(node, s.typeParams())
		}
		for _, e := range s.Lock.Exprs() {
			n.use(e.Node, s.Visible(e))
		}
	}
	return n
}

// learn takes all names that appear in the site.
func (n *names) learn(s *site) {
	maps.Copy(n.taken, s.mentioned())
	maps.Copy(n.bound, s.Locals())
}

// enter begins a function for the sites. Its variables must not hide their names.
func (n *names) enter(sites ...*site) {
	n.local = map[string]bool{}
	for _, s := range sites {
		maps.Copy(n.local, s.mentioned())
	}
	for _, i := range n.imports {
		n.local[i.name] = true
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

func (s *site) typeParams() map[string]bool {
	local := map[string]bool{}
	for _, name := range s.TypeParams() {
		local[name] = true
	}
	return local
}

// use imports the packages that a type or an expression of the source file needs, under
// the names in that file.
func (n *names) use(node ast.Node, hidden map[string]bool) {
	ast.Inspect(node, func(node ast.Node) bool {
		switch e := node.(type) {
		case *ast.SelectorExpr:
			n.use(e.X, hidden)
			return false
		case *ast.Field:
			if e.Type != nil {
				n.use(e.Type, hidden)
			}
			return false
		case *ast.KeyValueExpr:
			if _, name := e.Key.(*ast.Ident); !name { // otherwise it is the name of a field
				n.use(e.Key, hidden)
			}
			n.use(e.Value, hidden)
			return false
		case *ast.Ident:
			if !hidden[e.Name] {
				n.useName(e.Name)
			}
		}
		return true
	})
}

func (n *names) useName(name string) {
	if n.file == nil || n.pkg.Lookup(name) != nil {
		return
	}
	var i imported
	switch obj := n.file.Lookup(name).(type) {
	case nil:
		return
	case *types.PkgName:
		i = imported{name, obj.Imported().Path(), n.written[obj.Imported().Path()] || name != obj.Imported().Name()}
	default: // from a dot import
		if obj.Pkg() == nil {
			return
		}
		i = imported{".", obj.Pkg().Path(), true}
	}
	if !slices.Contains(n.imports, i) {
		n.imports = append(n.imports, i)
	}
}

// importing returns a name for a package that the generated code itself needs.
func (n *names) importing(p string) string {
	for _, i := range n.imports {
		if i.path == p && i.name != "." && !n.bound[i.name] {
			return i.name
		}
	}
	name := n.fresh(path.Base(p))
	n.imports = append(n.imports, imported{name, p, name != path.Base(p)})
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

// render returns the import declaration, with the standard library first.
func (n *names) render() string {
	var std, others []imported
	for _, i := range n.imports {
		if first, _, _ := strings.Cut(i.path, "/"); strings.Contains(first, ".") {
			others = append(others, i)
		} else {
			std = append(std, i)
		}
	}
	var b strings.Builder
	b.WriteString("import (\n")
	for _, group := range [][]imported{std, others} {
		slices.SortFunc(group, func(a, b imported) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.name, b.name)) })
		for _, i := range group {
			if i.spelled {
				b.WriteString(i.name + " ")
			}
			fmt.Fprintf(&b, "%q\n", i.path)
		}
		b.WriteString("\n")
	}
	b.WriteString(")\n")
	return b.String()
}
