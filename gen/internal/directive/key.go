package directive

import (
	"go/types"
)

// IsContext reports whether the type of v is context.Context.
func IsContext(v *types.Var) bool { return isNamed(v.Type(), "context", "Context") }

func isNamed(t types.Type, pkg, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkg && n.Obj().Name() == name
}

func hasMethod(t types.Type, name string) bool {
	m, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	return m != nil
}

// unkeyable returns why no value of type t can take part in a key, or "". It finds
// types that would be refused at every call, but does not look into the fields of structs.
func unkeyable(t types.Type) string {
	if isNamed(t, "context", "Context") {
		return "a context is not a parameter"
	}
	if _, generic := types.Unalias(t).(*types.TypeParam); generic || hasMethod(t, "LockKey") {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for field := range u.Fields() {
			if field.Exported() || field.Embedded() {
				return ""
			}
		}
		if u.NumFields() > 0 && !hasMethod(t, "MarshalText") && !hasMethod(t, "ProtoReflect") {
			return t.String() + " has only unexported fields, which cannot take part in a key: give it a method LockKey() string"
		}
	case *types.Signature, *types.Chan:
		return t.String() + " cannot take part in a key"
	case *types.Basic:
		if u.Kind() == types.Uintptr || u.Kind() == types.UnsafePointer || u.Kind() == types.UntypedNil || u.Info()&types.IsComplex != 0 {
			return t.String() + " cannot take part in a key"
		}
	case *types.Pointer:
		if _, ok := u.Elem().(*types.Named); !ok { // named types may be recursive
			return unkeyable(u.Elem())
		}
	case *types.Slice:
		return unkeyable(u.Elem())
	}
	return ""
}
