package generate

import (
	"go/ast"
	"go/token"
	"strings"
)

// decorator writes the type that runs the annotated methods of an interface under their
// locks. The embedded implementation provides the other methods.
func (f *file) decorator(sites []*site) {
	first := sites[0]
	for _, s := range sites {
		if s.Lock.As != "" {
			first = s
		}
	}
	face, name := first.Interface, first.Generated()
	generics, args := "", ""
	if list := face.TypeParams; list != nil {
		generics = f.typeParameters(list)
		args = "[" + strings.Join(first.TypeParams(), ", ") + "]"
	}
	constructor := "new" + strings.ToUpper(name[:1]) + name[1:]
	if ast.IsExported(name) {
		constructor = "New" + name
	}
	kit, wiring := f.importing(kitPath), f.importing(wiringPath)
	f.enter(sites...)
	next, locker := f.variable("next"), f.variable("locker")

	f.printf("\n// %s is a %s that runs %s under locks. It does not change other methods.\n", name, face.Name.Name, methodNames(sites))
	f.printf("type %s%s struct {\n%s%s\n", name, generics, face.Name.Name, args)
	for _, s := range sites {
		f.printf("%s *%s.Site\n", siteField(s), wiring)
	}
	f.printf("}\n\n// %s returns a decorator of next with the locks that %s declares. It panics\n// if next or the Locker is nil, or if the Locker's backend does not support the locks.\n",
		constructor, face.Name.Name)
	f.printf("func %s%s(%s %s%s, %s *%s.Locker) *%s%s {\n", constructor, generics, next, face.Name.Name, args, locker, kit, name, args)
	f.printf("if %s == nil {\npanic(%q)\n}\nreturn &%s%s{\n%s: %s,\n",
		next, "distlock: "+constructor+": nil "+face.Name.Name, name, args, face.Name.Name, next)
	for _, s := range sites {
		f.printf("%s: %s.Bind(%s, %s),\n", siteField(s), wiring, locker, f.options(s))
	}
	f.printf("}\n}\n\n")
	if generics == "" {
		f.printf("var _ %s = (*%s)(nil)\n", face.Name.Name, name)
	} else {
		f.printf("func _%s() { var _ %s%s = (*%s%s)(nil) }\n", generics, face.Name.Name, args, name, args)
	}
	for _, s := range sites {
		f.enter(s)
		method, recv := s.Name().Name, f.variable("d")
		f.printf("\n// %s runs the method under the lock %s.\n", method, s.describe())
		b := f.body(s, recv+"."+face.Name.Name+"."+method)
		f.printf("func (%s *%s%s) %s%s {\n", recv, name, args, method, b.signature)
		b.write(f, recv+"."+siteField(s)+".Do("+b.ctx+", "+b.key+", ")
		f.printf("}\n")
	}
}

// siteField returns the name of the field with the Site of a method.
func siteField(s *site) string {
	name := s.Name().Name
	field := strings.ToLower(name[:1]) + name[1:] + "Site"
	if token.IsExported(field) {
		return "site" + name
	}
	return field
}

func methodNames(sites []*site) string {
	var all []string
	for _, s := range sites {
		all = append(all, s.Name().Name)
	}
	if n := len(all); n > 1 {
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
	return all[0]
}
