package directive

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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

// Check reports the problems of a directive with its function. The signature is
// valid only if there are none.
func (c *Checker) Check(s *Site) (*Signature, Problems) {
	var problems Problems
	sig := s.readSignature(c.Info, &problems)
	c.checkParts(s, sig, &problems)
	c.checkExpr("hasher", s, s.Lock.Hasher, assignable(hasher, " is not a distlock.Hasher"), &problems)
	c.checkExpr("keyFormat", s, s.Lock.KeyFormat, assignable(keyFormat, " is not a func(base string, params any) (key string, err error)"), &problems)
	if s.Func != nil {
		c.checkName(s, &problems)
		c.checkLocker(s, &problems)
	} else if a, ok := s.Lock.find("locker"); ok {
		problems.add(a.Pos, "locker: the decorator of an interface gets its Locker from its constructor")
	}
	return sig, problems
}

func (c *Checker) checkName(s *Site, problems *Problems) {
	name := s.Name().Name
	switch {
	case s.Name().IsExported():
		problems.add(s.Lock.Pos, "%s is exported, so others could call it without its lock: name it %s, and %s is generated",
			name, lower(name), name)
	case s.Lock.As == name:
		problems.add(s.Lock.pos("as"), "as: %s is the function itself", name)
	case s.Lock.As == "" && upper(name) == name:
		problems.add(s.Lock.Pos, "%s has no exported form: name what is generated with as:Name", name)
	}
}

func (c *Checker) checkParts(s *Site, sig *Signature, problems *Problems) {
	l := s.Lock
	unkeyable := unkeyable
	if l.KeyFormat != nil { // it may take what the encoding refuses
		unkeyable = func(types.Type) string { return "" }
	}
	for _, part := range l.Parts {
		if part.Expr != nil {
			c.checkExpr("key", s, part.Expr, func(t types.Type) string {
				if why := unkeyable(t); why != "" {
					return ": " + why
				}
				return ""
			}, problems)
			continue
		}
		i := slices.IndexFunc(sig.Params, func(p Param) bool { return p.Name == part.Param })
		if i < 0 {
			problems.add(part.Pos, "param: %s has no parameter %s%s", s.Name().Name, part.Param, parameters(sig))
		} else if why := unkeyable(sig.Params[i].Go); why != "" {
			problems.add(part.Pos, "param: %s: %s", part.Param, why)
		}
	}
	if !l.Opts.ParamLock || len(l.Parts) > 0 {
		return
	}
	taken := 0
	for i, p := range sig.Params {
		if i == sig.Ctx || IsContext(p.Go) {
			continue
		}
		taken++
		if why := unkeyable(p.Go); why != "" {
			problems.add(l.pos("paramLock"), "paramLock: parameter %s: %s; select others with param or key", p.Name, why)
		}
	}
	if taken == 0 {
		problems.add(l.pos("paramLock"), "paramLock: %s has no parameters that could take part in the key", s.Name().Name)
	}
}

func parameters(sig *Signature) string {
	var names []string
	for i, p := range sig.Params {
		if i != sig.Ctx && p.Named() {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": there are " + strings.Join(names, ", ")
}

// hasher and keyFormat are the type below distlock.Hasher and the type of Opts.KeyFormat.
var (
	hasher    = typeOf("func(dst, encoded []byte) []byte")
	keyFormat = typeOf("func(base string, params any) (string, error)")
)

func typeOf(text string) types.Type {
	tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil {
		panic(err)
	}
	return tv.Type
}

// assignable returns a function that returns text for types that cannot be assigned to t.
func assignable(t types.Type, text string) func(types.Type) string {
	return func(have types.Type) string {
		if types.AssignableTo(have.Underlying(), t) {
			return ""
		}
		return text
	}
}

// checkExpr reports an expression that is wrong, or whose type is refused. It does not
// know the types of packages that the file does not import: the compiler checks these
// expressions in the generated code.
func (c *Checker) checkExpr(option string, s *Site, e *Expr, refuse func(types.Type) string, problems *Problems) {
	if e == nil || len(c.Unknown(s, e)) > 0 {
		return
	}
	tv, err := c.eval(s, e)
	switch {
	case err != nil:
		problems.add(err.pos, "%s: %s", option, err.what)
	case tv.Type == nil || types.Identical(tv.Type, types.Typ[types.Invalid]):
	case !tv.IsValue():
		problems.add(e.Pos, "%s: %s is not one value", option, e.Text)
	default:
		if why := refuse(tv.Type); why != "" {
			problems.add(e.Pos, "%s: %s%s", option, e.Text, why)
		}
	}
}

// Unknown returns the names before a dot in e that nothing declares. They may be packages
// that the file does not import, because an import that only a comment needs does not
// compile.
func (c *Checker) Unknown(s *Site, e *Expr) []*ast.Ident {
	var all []*ast.Ident
	local := s.Visible(e)
	ast.Inspect(e.Node, func(node ast.Node) bool {
		if _, is := node.(*ast.FuncLit); is {
			return false // it may declare names of its own
		}
		if selector, ok := node.(*ast.SelectorExpr); ok {
			x, ok := selector.X.(*ast.Ident)
			if ok && !local[x.Name] && types.Universe.Lookup(x.Name) == nil && c.Pkg.Scope().Lookup(x.Name) == nil &&
				c.Info.Scopes[s.File].Lookup(x.Name) == nil {
				all = append(all, x)
			}
		}
		return true
	})
	return all
}

// LockerOf returns the expression for the Locker of a function: that of the
// directive, or the default, which is the field locker of the receiver or the
// variable locker of the package.
func (s *Site) LockerOf(receiver string) string {
	switch {
	case s.Lock.Locker != nil:
		return s.Lock.Locker.Text
	case s.Func.Recv != nil:
		return receiver + ".locker"
	default:
		return "locker"
	}
}

func (c *Checker) checkLocker(s *Site, problems *Problems) {
	e := s.Lock.Locker
	if e == nil {
		receiver := s.Receiver()
		if s.Func.Recv != nil && receiver == "" {
			return // the compiler reports it
		}
		var err error
		if e, err = expr(Arg{Value: s.LockerOf(receiver), ValuePos: s.Lock.Pos}); err != nil {
			return
		}
		if _, err := c.eval(s, e); err != nil {
			problems.add(s.Lock.Pos, "no Locker: %s: add it, or say where it is with locker:expression", err.what)
			return
		}
	}
	c.checkExpr("locker", s, e, func(t types.Type) string {
		if p, ok := types.Unalias(t).(*types.Pointer); ok && isNamed(p.Elem(), root, "Locker") {
			return ""
		}
		return " is a " + types.TypeString(t, types.RelativeTo(c.Pkg)) + ", not a *distlock.Locker"
	}, problems)
}

// evalError is an error of the type checker in an expression.
type evalError struct {
	pos  token.Pos
	what string
}

// eval finds the type of an expression in the scope of the function's body, or of the
// file for what is evaluated outside the function. Methods of interfaces have no body;
// the compiler checks their generated code.
func (c *Checker) eval(s *Site, e *Expr) (types.TypeAndValue, *evalError) {
	pos := s.File.Name.End()
	if e != s.Lock.Hasher && e != s.Lock.KeyFormat {
		if s.Func == nil || s.Func.Body == nil {
			return types.TypeAndValue{}, nil
		}
		pos = s.Func.Body.Lbrace + 1
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	err := types.CheckExpr(c.Fset, c.Pkg, pos, e.Node, info)
	if err == nil {
		return info.Types[e.Node], nil
	}
	if where := (types.Error{}); errors.As(err, &where) {
		return types.TypeAndValue{}, &evalError{e.At(where.Pos), where.Msg}
	}
	return types.TypeAndValue{}, &evalError{e.Pos, err.Error()}
}

func upper(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[n:]
}

func lower(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(r)) + name[n:]
}

// Generated returns the name of the function or type that is generated.
func (s *Site) Generated() string {
	switch {
	case s.Lock.As != "":
		return s.Lock.As
	case s.Func != nil:
		return upper(s.Func.Name.Name)
	case s.Interface.Name.IsExported():
		return "Locked" + s.Interface.Name.Name
	default:
		return "locked" + upper(s.Interface.Name.Name)
	}
}
