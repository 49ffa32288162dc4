package generate

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// decorator writes the type that runs the annotated methods of an interface under their
// locks. The embedded implementation provides the other methods.
func (f *file) decorator(sites []*directive.Site) {
	first := sites[0]
	for _, s := range sites {
		if s.Lock.As != "" {
			first = s
		}
	}
	face, name := first.Interface.Name.Name, first.Generated()
	generics, args := "", ""
	if list := first.Interface.TypeParams; list != nil {
		generics, args = f.typeParameters(list), typeArguments(list)
	}
	constructor := "new" + strings.ToUpper(name[:1]) + name[1:]
	if ast.IsExported(name) {
		constructor = "New" + name
	}
	kit, wiring := f.importing(kitPath), f.importing(wiringPath)
	f.enter(sites...)
	next, locker := f.variable("next"), f.variable("locker")

	f.printf("\n// %s is a %s that runs methods under the locks of their comments. It does not\n// change other methods.\n", name, face)
	f.printf("type %s%s struct {\n%s%s\n", name, generics, face, args)
	for _, s := range sites {
		f.printf("%s *%s.Site\n", siteField(s), wiring)
	}
	f.printf("}\n\n// %s returns a decorator of next with the locks that %s declares. It panics\n"+
		"// if next or the Locker is nil, or if the Locker's backend does not support the locks.\n",
		constructor, face)
	f.printf("func %s%s(%s %s%s, %s *%s.Locker) *%s%s {\n", constructor, generics, next, face, args, locker, kit, name, args)
	f.printf("if %s == nil {\npanic(%q)\n}\nreturn &%s%s{\n%s: %s,\n",
		next, "distlock: "+constructor+": nil "+face, name, args, face, next)
	for _, s := range sites {
		f.printf("%s: %s.Bind(%s, %s),\n", siteField(s), wiring, locker, f.options(s))
	}
	f.printf("}\n}\n\n")
	if generics == "" {
		f.printf("var _ %s = (*%s)(nil)\n", face, name)
	} else {
		f.printf("func _%s() { var _ %s%s = (*%s%s)(nil) }\n", generics, face, args, name, args)
	}
	for _, s := range sites {
		f.enter(s)
		method, d := s.Name().Name, f.variable("d")
		recv := &ast.Field{Names: []*ast.Ident{ast.NewIdent(d)}, Type: ast.NewIdent("*" + name + args)}
		f.printf("\n// %s runs the method%s%s\n", method, underLock, s.Lock.Text)
		f.locked(s, &ast.FieldList{List: []*ast.Field{recv}}, method, d+"."+siteField(s), d+"."+face+"."+method)
	}
}

// siteField returns the name of the field with the Site of a method.
func siteField(s *directive.Site) string {
	name := s.Name().Name
	field := strings.ToLower(name[:1]) + name[1:] + "Site"
	if token.IsExported(field) {
		return "site" + name
	}
	return field
}
