package directive

import (
	"errors"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// root is the import path of distlock.
const root = "github.com/distlock-go/distlock"

// Checker knows the types of a package. The package may have errors; expressions
// that depend on them are not checked.
type Checker struct {
	Fset *token.FileSet
	Pkg  *types.Package
	Info *types.Info
}

// Check reports the problems of a directive with its function. What it sets in the site is
// valid only if there are none.
func (c *Checker) Check(s *Site) Problems {
	var problems Problems
	name, l := s.Name().Name, s.Lock
	fn, ok := c.Info.Defs[s.Name()].(*types.Func)
	if !ok {
		problems.add(l.Pos, "%s is declared twice", name)
		return problems
	}
	s.Sig, s.Packages = fn.Signature(), map[string]token.Pos{}
	params, results := slices.Collect(s.Sig.Params().Variables()), s.Sig.Results()
	if s.Ctx = slices.IndexFunc(params, IsContext); s.Ctx < 0 {
		problems.add(l.Pos, "%s has no context.Context among its parameters, which limits the wait and reports the loss of the lock", name)
	}
	if n := results.Len(); n == 0 || !types.Identical(results.At(n-1).Type(), types.Universe.Lookup("error").Type()) {
		problems.add(l.Pos, "the last result of %s is not an error, so it cannot report that there is no lock", name)
	}
	c.checkHidden(s, &problems)
	c.checkKey(s, params, &problems)
	for _, option := range []string{"hasher", "keyFormat"} {
		c.checkExpr(option, s, l.Exprs[option], &problems)
	}
	switch a, given := l.find("locker"); {
	case s.Func != nil:
		c.checkName(s, &problems)
		c.checkLocker(s, &problems)
	case given:
		problems.add(a.Pos, "locker: the decorator of an interface gets its Locker from its constructor")
	}
	return problems
}

// checkHidden reports parameters and results with names that the generated code uses.
func (c *Checker) checkHidden(s *Site, problems *Problems) {
	used := []string{"any", "error", "nil"}
	if s.Func != nil && s.Func.Recv == nil {
		used = append(used, s.Func.Name.Name)
	}
	for _, name := range used {
		if c.Info.Scopes[s.Type()].Lookup(name) != nil {
			problems.add(s.Lock.Pos, "%s has a parameter or result %s, which hides what the generated code uses: rename it", s.Name().Name, name)
		}
	}
}

func (c *Checker) checkName(s *Site, problems *Problems) {
	name := s.Func.Name.Name
	switch {
	case s.Func.Name.IsExported():
		problems.add(s.Lock.Pos, "%s is exported, so others could call it without its lock: name it %s, and %s is generated",
			name, inCase(name, unicode.ToLower), name)
	case s.Lock.As == name:
		problems.add(s.Lock.pos("as"), "as: %s is the function itself", name)
	case s.Generated() == name:
		problems.add(s.Lock.Pos, "%s has no exported form: name what is generated with as:Name", name)
	}
}

func (c *Checker) checkKey(s *Site, params []*types.Var, problems *Problems) {
	l := s.Lock
	check := func(pos token.Pos, p *types.Var) {
		if why := unkeyable(p.Type()); why != "" && l.Exprs["keyFormat"] == nil { // which may take what the encoding refuses
			problems.add(pos, "parameter %s: %s", p.Name(), why)
		}
	}
	for _, e := range l.Parts {
		i := slices.IndexFunc(params, func(p *types.Var) bool { return p.Name() == e.Text })
		switch {
		case !e.Param:
			c.checkExpr("key", s, e, problems)
		case i < 0:
			problems.add(e.Pos, "param: %s has no parameter %s: it is %v", s.Name().Name, e.Text, types.TypeString(s.Sig, types.RelativeTo(c.Pkg)))
		default:
			check(e.Pos, params[i])
		}
	}
	if !l.Opts.ParamLock || len(l.Parts) > 0 {
		return
	}
	if params = slices.DeleteFunc(params, IsContext); len(params) == 0 {
		problems.add(l.pos("paramLock"), "paramLock: %s has no parameters that could take part in the key", s.Name().Name)
	}
	for _, p := range params {
		check(l.pos("paramLock"), p)
	}
}

// The types of the options hasher and keyFormat.
var (
	hasher    = typeOf("func(key, params []byte) []byte")
	keyFormat = typeOf("func(base string, params any) (string, error)")
)

func typeOf(text string) types.Type {
	tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil {
		panic(err)
	}
	return tv.Type
}

// refuse returns why a value of type t is wrong for the option, or "".
func (c *Checker) refuse(option string, s *Site, t types.Type) string {
	p, _ := types.Unalias(t).(*types.Pointer)
	switch {
	case option == "hasher" && !types.AssignableTo(t.Underlying(), hasher):
		return " is not a distlock.Hasher"
	case option == "keyFormat" && !types.AssignableTo(t.Underlying(), keyFormat):
		return " is not a func(base string, params any) (key string, err error)"
	case option == "locker" && (p == nil || !isNamed(p.Elem(), root, "Locker")):
		return " is a " + types.TypeString(t, types.RelativeTo(c.Pkg)) + ", not a *distlock.Locker"
	case option == "key" && s.Lock.Exprs["keyFormat"] == nil && unkeyable(t) != "":
		return ": " + unkeyable(t)
	}
	return ""
}

// checkExpr reports an expression that is wrong, or whose type is refused.
func (c *Checker) checkExpr(option string, s *Site, e *Expr, problems *Problems) {
	if e == nil {
		return
	}
	tv, err := c.eval(s, e)
	switch {
	case err != nil:
		problems.add(e.Pos, "%s: %v", option, err)
	case tv.Type == nil || types.Identical(tv.Type, types.Typ[types.Invalid]):
	case !tv.IsValue():
		problems.add(e.Pos, "%s: %s is not one value", option, e.Text)
	default:
		if why := c.refuse(option, s, tv.Type); why != "" {
			problems.add(e.Pos, "%s: %s%s", option, e.Text, why)
		}
	}
}

func (c *Checker) checkLocker(s *Site, problems *Problems) {
	e := s.Lock.Exprs["locker"]
	if e == nil {
		if s.Func.Recv != nil && s.Receiver() == "" {
			return // the compiler reports it
		}
		e = &Expr{Text: s.Locker(s.Receiver()), Pos: s.Lock.Pos}
		if _, err := c.eval(s, e); err != nil {
			problems.add(e.Pos, "no Locker: %v: add it, or say where it is with locker:expression", err)
			return
		}
	}
	c.checkExpr("locker", s, e, problems)
}

// eval finds the type of an expression in the scope of the function's body, or of the
// file for what is evaluated outside the function. Methods of interfaces have no body;
// the compiler checks their generated code. It does so, too, if the expression names a
// package that the file does not import, because an import that only a comment needs does
// not compile.
func (c *Checker) eval(s *Site, e *Expr) (types.TypeAndValue, error) {
	pos := s.File.Name.End()
	if e != s.Lock.Exprs["hasher"] && e != s.Lock.Exprs["keyFormat"] {
		if s.Func == nil || s.Func.Body == nil {
			return types.TypeAndValue{}, nil
		}
		pos = s.Func.Body.Lbrace + 1
	}
	tv, err := types.Eval(c.Fset, c.Pkg, pos, e.Text)
	if where, ok := errors.AsType[types.Error](err); ok {
		if name, undefined := strings.CutPrefix(where.Msg, "undefined: "); undefined && strings.Contains(e.Text, name+".") {
			s.Packages[name] = e.Pos
			return types.TypeAndValue{}, nil
		}
		return tv, errors.New(where.Msg)
	}
	return tv, err
}

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
