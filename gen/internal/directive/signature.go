package directive

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// Signature is what tools need to know about a function under a lock.
type Signature struct {
	Params  []Param
	Ctx     int // the parameter that is the context
	Results []Param
}

// Param is a parameter or a result.
type Param struct {
	Name     string // "" or "_": none
	Type     ast.Expr
	Variadic bool // Type is the type of one element
	Go       types.Type
	Pos      token.Pos
}

// Named reports whether code can refer to it.
func (p Param) Named() bool { return p.Name != "" && p.Name != "_" }

func params(list *ast.FieldList, info *types.Info) []Param {
	var all []Param
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		p := Param{Type: field.Type, Go: info.TypeOf(field.Type), Pos: field.Pos()}
		if e, ok := field.Type.(*ast.Ellipsis); ok {
			p.Type, p.Variadic = e.Elt, true
		}
		if len(field.Names) == 0 {
			all = append(all, p)
		}
		for _, name := range field.Names {
			p.Name, p.Pos = name.Name, name.Pos()
			all = append(all, p)
		}
	}
	return all
}

// readSignature reports a missing context or error.
func (s *Site) readSignature(info *types.Info, problems *Problems) *Signature {
	sig := &Signature{Params: params(s.Type().Params, info), Results: params(s.Type().Results, info), Ctx: -1}
	for i, p := range sig.Params {
		if IsContext(p.Go) {
			sig.Ctx = i
			break
		}
	}
	if sig.Ctx < 0 {
		problems.add(s.Lock.Pos, "%s has no context.Context among its parameters, which limits the wait and reports the loss of the lock", s.Name().Name)
	}
	if n := len(sig.Results); n == 0 || !isError(sig.Results[n-1].Go) {
		problems.add(s.Lock.Pos, "the last result of %s is not an error, so it cannot report that there is no lock", s.Name().Name)
	}
	return sig
}

// Receiver returns the name of the receiver, or "".
func (s *Site) Receiver() string {
	if s.Func == nil || s.Func.Recv == nil || len(s.Func.Recv.List) == 0 || len(s.Func.Recv.List[0].Names) == 0 {
		return ""
	}
	if name := s.Func.Recv.List[0].Names[0].Name; name != "_" {
		return name
	}
	return ""
}

// TypeParams returns the type parameters that a call of the function needs.
func (s *Site) TypeParams() []string {
	list := s.Type().TypeParams
	if s.Interface != nil {
		list = s.Interface.TypeParams
	}
	return fieldNames(list)
}

// Locals returns the names that the signature declares.
func (s *Site) Locals() map[string]bool {
	local := map[string]bool{}
	for _, name := range slices.Concat(s.TypeParams(), fieldNames(s.Type().Params), fieldNames(s.Type().Results), []string{s.Receiver()}) {
		local[name] = true
	}
	return local
}

// Visible returns the names of [Site.Locals] that the expression e can use.
func (s *Site) Visible(e *Expr) map[string]bool {
	if e == s.Lock.Hasher || e == s.Lock.KeyFormat { // evaluated outside the function
		return nil
	}
	return s.Locals()
}

func fieldNames(list *ast.FieldList) []string {
	var all []string
	if list != nil {
		for _, field := range list.List {
			for _, name := range field.Names {
				all = append(all, name.Name)
			}
		}
	}
	return all
}

// IsContext reports whether t is context.Context.
func IsContext(t types.Type) bool { return isNamed(t, "context", "Context") }

func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

func isNamed(t types.Type, pkg, name string) bool {
	if t == nil {
		return false
	}
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
	if t == nil {
		return ""
	}
	if IsContext(t) {
		return "a context is not a parameter"
	}
	if _, generic := types.Unalias(t).(*types.TypeParam); generic {
		return ""
	}
	if hasMethod(t, "LockKey") {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		if u.NumFields() > 0 && !hasMethod(t, "MarshalText") && !hasMethod(t, "ProtoReflect") &&
			!slices.ContainsFunc(slices.Collect(u.Fields()), func(f *types.Var) bool { return f.Exported() || f.Embedded() }) {
			return t.String() + " has only unexported fields, which cannot take part in a key: give it a method LockKey() string"
		}
	case *types.Signature, *types.Chan:
		return t.String() + " cannot take part in a key"
	case *types.Basic:
		if u.Kind() == types.Uintptr || u.Kind() == types.UnsafePointer || u.Kind() == types.UntypedNil {
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
