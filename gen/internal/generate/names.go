package generate

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// names manages the names in one generated file.
type names struct {
	taken   map[string]bool   // in the package and in the sites
	local   map[string]bool   // in the current function, for variable
	bound   map[string]bool   // parameters and receivers, which hide imports
	aliases map[string]string // see outer
	imports []imported
}

type imported struct {
	name string // "": the last element of the path
	path string
}

func (g *generator) namesOf(src *source) *names {
	n := &names{taken: map[string]bool{}, bound: map[string]bool{}, aliases: map[string]string{}}
	for _, name := range g.Pkg.Scope().Names() {
		if at := g.Fset.File(g.Pkg.Scope().Lookup(name).Pos()); at != nil && !g.old[at.Name()] {
			n.taken[name] = true
		}
	}
	for _, s := range src.sites {
		g.mention(s, n.taken)
		for _, name := range g.Info.Scopes[s.Type()].Names() {
			n.bound[name] = true
		}
	}
	scope := g.Info.Scopes[src.file]
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
func (f *file) enter(sites ...*directive.Site) {
	f.local = map[string]bool{}
	for _, s := range sites {
		f.mention(s, f.local)
	}
	for _, i := range f.imports {
		f.local[i.declared()] = true
	}
}

var word = regexp.MustCompile(`[\pL_][\pL_\pN]*`)

// mention adds all words in the site.
func (g *generator) mention(s *directive.Site, to map[string]bool) {
	head := &ast.FuncDecl{Name: s.Name(), Type: s.Type()}
	var texts []string
	if s.Func != nil {
		head.Recv = s.Func.Recv
		texts = append(texts, s.Locker(""))
	} else if list := s.Interface.TypeParams; list != nil {
		texts = append(texts, g.typeParameters(list))
	}
	for _, e := range slices.Concat(s.Lock.Parts, slices.Collect(maps.Values(s.Lock.Exprs))) {
		texts = append(texts, e.Text)
	}
	for _, name := range word.FindAllString(strings.Join(append(texts, g.source(head)), " "), -1) {
		to[name] = true
	}
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

// outer returns a name of the universe or of the package, or if a parameter, result or receiver
// of the site hides it another one for the same.
func (f *file) outer(s *directive.Site, name string) string {
	if f.Info.Scopes[s.Type()].Lookup(name) == nil {
		return name
	}
	if f.aliases[name] == "" {
		f.aliases[name] = f.fresh(name)
	}
	return f.aliases[name]
}

// declareOuter writes the other names.
func (f *file) declareOuter() {
	for _, name := range slices.Sorted(maps.Keys(f.aliases)) {
		switch _, isType := types.Universe.Lookup(name).(*types.TypeName); {
		case isType:
			f.printf("\ntype %s = %s\n", f.aliases[name], name)
		case name == "nil":
			f.printf("\nvar %s any\n", f.aliases[name])
		default:
			f.printf("\nvar %s = %s\n", f.aliases[name], name)
		}
	}
}

func unused(name string, taken map[string]bool) string {
	free := name
	for i := 2; taken[free] || token.IsKeyword(free) || types.Universe.Lookup(free) != nil; i++ {
		free = name + strconv.Itoa(i)
	}
	taken[free] = true
	return free
}
