package generate

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// underLock stands in the comments of generated functions, before the options.
const underLock = " under a lock: "

// function writes the exported form of an annotated function or method.
func (f *file) function(s *directive.Site) {
	recv, full, call, receiver := "", s.FullName(), s.Func.Name.Name, s.Func.Recv
	f.enter(s)
	if receiver != nil {
		var names []string
		receiver, names = f.named(receiver, func(int) string { return "recv" })
		recv = names[0]
		call = recv + "." + call
	}
	if list := s.Func.Type.TypeParams; list != nil {
		call += typeArguments(list)
	}
	words := "lock"
	for word := range strings.SplitSeq(full, ".") {
		words += strings.ToUpper(word[:1]) + word[1:]
	}
	site := f.fresh(words)
	f.printf("\nvar %s = %s.NewSite(%q, %s)\n", site, f.importing(wiringPath), full, f.options(s))
	f.printf("\n// %s is %s%s%s\n", s.Generated(), full, underLock, s.Lock.Text)
	f.locked(s, receiver, s.Generated(), site+".On("+s.Locker(recv)+")", call)
}

// locked writes a function or method that calls another one under the lock of a site.
func (f *file) locked(s *directive.Site, recv *ast.FieldList, name, site, call string) {
	typ, pkg := *s.Type(), f.importing("context")
	list, params := f.named(typ.Params, func(i int) string {
		if i == s.Ctx {
			return "ctx"
		}
		return "p" + strconv.Itoa(i)
	})
	typ.Params = list
	key := key(s, params)
	last := s.Sig.Results().Len() - 1
	list, results := f.named(typ.Results, func(i int) string {
		if i == last {
			return "err"
		}
		return "r" + strconv.Itoa(i)
	})
	if last > 0 {
		typ.Results = list
	}
	call += "(" + strings.Join(params, ", ")
	if s.Sig.Variadic() {
		call += "..."
	}
	ctx, all, err := params[s.Ctx], strings.Join(results, ", "), results[last]
	do := fmt.Sprintf("%s.Do(%s, %s, func(%s %s.Context) error {\n", site, ctx, key, ctx, pkg)
	f.printf("%s {\n", f.source(&ast.FuncDecl{Recv: recv, Name: ast.NewIdent(name), Type: &typ}))
	if last > 0 {
		f.printf("%s = %s%s = %s)\nreturn %s\n})\nreturn %s\n}\n", err, do, all, call, err, all)
	} else {
		f.printf("return %sreturn %s)\n})\n}\n", do, call)
	}
}

// named returns the list with a name for each field, and these names.
func (f *file) named(list *ast.FieldList, fallback func(i int) string) (*ast.FieldList, []string) {
	all, names := &ast.FieldList{}, []string(nil)
	for _, field := range list.List {
		copied := &ast.Field{Type: field.Type}
		for i := range max(1, len(field.Names)) {
			name := "_"
			if i < len(field.Names) {
				name = field.Names[i].Name
			}
			if name == "_" {
				name = f.variable(fallback(len(names)))
			}
			names, copied.Names = append(names, name), append(copied.Names, ast.NewIdent(name))
		}
		all.List = append(all.List, copied)
	}
	return all, names
}

// key returns the expression for the parameters of the key: a single parameter stands
// for itself, several form a list, as everywhere in this module.
func key(s *directive.Site, params []string) string {
	switch all := parts(s, params); len(all) {
	case 0:
		return "nil"
	case 1:
		return all[0]
	default:
		return "[]any{" + strings.Join(all, ", ") + "}"
	}
}

// parts returns what takes part in the key.
func parts(s *directive.Site, params []string) (all []string) {
	for _, e := range s.Lock.Parts {
		all = append(all, e.Text)
	}
	for i, name := range params {
		if s.Lock.Opts.ParamLock && len(s.Lock.Parts) == 0 && !directive.IsContext(s.Sig.Params().At(i)) {
			all = append(all, name)
		}
	}
	return all
}

// typeArguments returns the names of type parameters, with brackets.
func typeArguments(list *ast.FieldList) string {
	var names []string
	for _, field := range list.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}
