package generate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// The import paths of the packages that generated code needs.
const (
	kitPath    = "github.com/distlock-go/distlock"
	wiringPath = kitPath + "/wiring"
)

// file is a generated file under construction.
type file struct {
	*generator
	*names

	out bytes.Buffer
}

func (f *file) printf(text string, args ...any) { fmt.Fprintf(&f.out, text, args...) }

func (g *generator) namesOf(src *source) *names {
	n := &names{taken: map[string]bool{}, bound: map[string]bool{}}
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

// source returns the text of a node of the source.
func (g *generator) source(node ast.Node) string {
	var b bytes.Buffer
	if err := format.Node(&b, g.Fset, node); err != nil {
		return "" // the output will not be valid Go
	}
	return b.String()
}

// typeParameters returns the declaration of type parameters, with brackets.
func (g *generator) typeParameters(list *ast.FieldList) string {
	text := g.source(&ast.FuncType{TypeParams: list, Params: &ast.FieldList{}})
	return strings.TrimSuffix(strings.TrimPrefix(text, "func"), "()")
}
