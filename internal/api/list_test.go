package api

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// list returns the lines for the package in a directory below root, sorted.
func list(t *testing.T, root, dir string) []string {
	t.Helper()
	p, err := context.ImportDir(filepath.Join(root, dir), 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &lister{prefix: "pkg " + importPath(dir) + ", "}
	fset := token.NewFileSet()
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		l.file(f)
	}
	slices.Sort(l.lines)
	return l.lines
}

// lister collects the lines of one package.
type lister struct {
	prefix string
	lines  []string
}

func (l *lister) add(parts ...string) { l.lines = append(l.lines, l.prefix+strings.Join(parts, "")) }

func (l *lister) file(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			l.function(d)
		case *ast.GenDecl:
			var last *ast.ValueSpec // the last one with a value
			for i, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					l.typ(s)
				case *ast.ValueSpec:
					if d.Tok != token.CONST || len(s.Values) > 0 {
						last = s
					}
					l.value(d.Tok, s.Names, last, i)
				}
			}
		}
	}
}

func (l *lister) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv == nil {
		l.add("func ", d.Name.Name, typeParams(d.Type.TypeParams), signature(d.Type))
		return
	}
	recv := source(d.Recv.List[0].Type)
	if ast.IsExported(strings.TrimPrefix(recv, "*")) {
		l.add("method (", recv, ") ", d.Name.Name, signature(d.Type))
	}
}

// value lists constants and variables with the type and the values of s. The values of
// constants are part of the API.
func (l *lister) value(kind token.Token, names []*ast.Ident, s *ast.ValueSpec, index int) {
	for i, name := range names {
		if !name.IsExported() {
			continue
		}
		line := kind.String() + " " + name.Name
		if s.Type != nil {
			line += " " + source(s.Type)
		}
		if kind == token.CONST {
			value := source(s.Values[i])
			if iotaWord.MatchString(value) {
				value = evaluate(iotaWord.ReplaceAllString(value, strconv.Itoa(index)))
			}
			line += " = " + value
		}
		l.add(line)
	}
}

var iotaWord = regexp.MustCompile(`\biota\b`)

// evaluate returns the value of a constant expression, or the expression if it has names.
func evaluate(expr string) string {
	v, err := gotypes.Eval(token.NewFileSet(), nil, token.NoPos, expr)
	if err != nil || v.Value == nil {
		return expr
	}
	return v.Value.ExactString()
}

func (l *lister) typ(s *ast.TypeSpec) {
	if !s.Name.IsExported() {
		return
	}
	head := "type " + s.Name.Name + typeParams(s.TypeParams)
	if s.Assign.IsValid() {
		l.add(head, " = ", source(s.Type))
		return
	}
	switch t := s.Type.(type) {
	case *ast.StructType:
		l.add(head, " struct")
		l.fields(head+" struct, ", t.Fields)
	case *ast.InterfaceType:
		l.add(head, " interface")
		l.fields(head+" interface, ", t.Methods)
	case *ast.FuncType:
		l.add(head, " func", signature(t))
	default:
		l.add(head, " ", source(t))
	}
}

// fields lists the exported fields of a struct, or the methods of an interface.
func (l *lister) fields(head string, list *ast.FieldList) {
	for _, field := range list.List {
		text := " " + source(field.Type)
		if f, ok := field.Type.(*ast.FuncType); ok {
			text = " func" + signature(f)
			if strings.HasSuffix(head, " interface, ") {
				text = signature(f)
			}
		}
		for _, name := range field.Names {
			if name.IsExported() {
				l.add(head, name.Name, text)
			}
		}
		if len(field.Names) == 0 {
			l.add(head, "embedded", text)
		}
	}
}

// signature returns the parameters and results without their names.
func signature(f *ast.FuncType) string {
	text := "(" + strings.Join(types(f.Params), ", ") + ")"
	switch results := types(f.Results); len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	default:
		return text + " (" + strings.Join(results, ", ") + ")"
	}
}

// types returns a type for each parameter or result.
func types(list *ast.FieldList) []string {
	if list == nil {
		return nil
	}
	var all []string
	for _, field := range list.List {
		text := source(field.Type)
		if f, ok := field.Type.(*ast.FuncType); ok {
			text = "func" + signature(f)
		}
		for range max(len(field.Names), 1) {
			all = append(all, text)
		}
	}
	return all
}

func typeParams(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var all []string
	for _, field := range list.List {
		for _, name := range field.Names {
			all = append(all, name.Name+" "+source(field.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// source returns the text of a type or value on one line.
func source(node ast.Node) string {
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), node); err != nil {
		panic(err) // parsed before
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Each kind of declaration has its lines, and nothing that is not exported has one.
func TestList(t *testing.T) {
	t.Parallel()
	const code = `package p
const (
	A    = 1 << 2
	B, b int = 3, 4
)
const (
	C Kind = iota + 1
	D
	_
	E = 1 << iota
)
var V, v error = nil, nil
type Kind int
type Alias = other.Type
type F[T any] func(ctx context.Context, v T, more ...int) (n int, err error)
type S[K comparable, V any] struct {
	*Embedded
	One, two int
	Do func(a, b string) error
	hidden bool
}
type I interface {
	Do(a, b string, f func(x int)) (c, d bool)
	error
	private()
}
type hidden struct{ X int }
func (hidden) M() {}
func (s *S[K, V]) M(k K) (_ V) { return }
func Map[K comparable, V any](m map[K]V) S[K, V] {}
func lower() {}
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", code, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &lister{}
	l.file(f)
	want := []string{
		"const A = 1 << 2",
		"const B int = 3",
		"const C Kind = 1",
		"const D Kind = 2",
		"const E = 8",
		"var V error",
		"type Kind int",
		"type Alias = other.Type",
		"type F[T any] func(context.Context, T, ...int) (int, error)",
		"type S[K comparable, V any] struct",
		"type S[K comparable, V any] struct, embedded *Embedded",
		"type S[K comparable, V any] struct, One int",
		"type S[K comparable, V any] struct, Do func(string, string) error",
		"type I interface",
		"type I interface, Do(string, string, func(int)) (bool, bool)",
		"type I interface, embedded error",
		"method (*S[K, V]) M(K) V",
		"func Map[K comparable, V any](map[K]V) S[K, V]",
	}
	if !slices.Equal(l.lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(l.lines, "\n"), strings.Join(want, "\n"))
	}
}
