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
	if s.Lock.Hasher != nil {
		c.checkHasher(s, &problems)
	}
	if s.Lock.KeyFormat != nil {
		c.checkKeyFormat(s, &problems)
	}
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
			tv, err := c.eval(s, part.Expr)
			switch {
			case err != nil:
				problems.add(err.pos, "key: %s", err.what)
			case tv.Type == nil || types.Identical(tv.Type, types.Typ[types.Invalid]):
			case !tv.IsValue():
				problems.add(part.Pos, "key: %s is not one value", part.Expr.Text)
			default:
				if why := unkeyable(tv.Type); why != "" {
					problems.add(part.Pos, "key: %s: %s", part.Expr.Text, why)
				}
			}
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

// hasherType is the type below distlock.Hasher.
var hasherType = func() types.Type {
	text := types.NewParam(token.NoPos, nil, "", types.NewSlice(types.Typ[types.Byte]))
	return types.NewSignatureType(nil, nil, nil, types.NewTuple(text, text), types.NewTuple(text), false)
}()

func (c *Checker) checkHasher(s *Site, problems *Problems) {
	tv, err := c.evalAt(s.File.Name.End(), s.Lock.Hasher)
	switch {
	case err != nil:
		problems.add(err.pos, "hasher: %s", err.what)
	case tv.Type == nil || types.Identical(tv.Type, types.Typ[types.Invalid]):
	default:
		if !tv.IsValue() || !types.Identical(tv.Type.Underlying(), hasherType) {
			problems.add(s.Lock.Hasher.Pos, "hasher: %s is not a distlock.Hasher", s.Lock.Hasher.Text)
		}
	}
}

// keyFormat is the type of the field KeyFormat of distlock.Opts.
var keyFormat = types.NewSignatureType(nil, nil, nil,
	types.NewTuple(types.NewVar(0, nil, "", types.Typ[types.String]), types.NewVar(0, nil, "", types.Universe.Lookup("any").Type())),
	types.NewTuple(types.NewVar(0, nil, "", types.Typ[types.String]), types.NewVar(0, nil, "", types.Universe.Lookup("error").Type())),
	false)

func (c *Checker) checkKeyFormat(s *Site, problems *Problems) {
	tv, err := c.evalAt(s.File.Name.End(), s.Lock.KeyFormat)
	switch {
	case err != nil:
		problems.add(err.pos, "keyFormat: %s", err.what)
	case tv.Type == nil || types.Identical(tv.Type, types.Typ[types.Invalid]):
	case !tv.IsValue() || !types.AssignableTo(tv.Type, keyFormat):
		problems.add(s.Lock.KeyFormat.Pos, "keyFormat: %s is not a func(base string, params any) (key string, err error)", s.Lock.KeyFormat.Text)
	}
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
	}
	tv, err := c.eval(s, e)
	switch {
	case err != nil && s.Lock.Locker == nil:
		problems.add(s.Lock.Pos, "no Locker: %s: add it, or say where it is with locker:expression", err.what)
	case err != nil:
		problems.add(err.pos, "locker: %s", err.what)
	case tv.Type == nil || types.Identical(tv.Type, types.Typ[types.Invalid]):
	default:
		p, pointer := types.Unalias(tv.Type).(*types.Pointer)
		if !pointer || !isNamed(p.Elem(), root, "Locker") {
			problems.add(e.Pos, "locker: %s is a %s, not a *distlock.Locker", e.Text, types.TypeString(tv.Type, types.RelativeTo(c.Pkg)))
		}
	}
}

// evalError is an error of the type checker in an expression.
type evalError struct {
	pos  token.Pos
	what string
}

// eval finds the type of an expression in the scope of the function's body. Methods
// of interfaces have no body; the compiler checks their generated code.
func (c *Checker) eval(s *Site, e *Expr) (types.TypeAndValue, *evalError) {
	if s.Func == nil || s.Func.Body == nil {
		return types.TypeAndValue{}, nil
	}
	return c.evalAt(s.Func.Body.Lbrace+1, e)
}

func (c *Checker) evalAt(pos token.Pos, e *Expr) (types.TypeAndValue, *evalError) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	err := types.CheckExpr(c.Fset, c.Pkg, pos, e.Node, info)
	if err == nil {
		return info.Types[e.Node], nil
	}
	if where := (types.Error{}); errors.As(err, &where) {
		at := e.Pos
		if n := where.Pos; n >= 1 && int(n) <= len(e.Text) {
			at = e.At(n)
		}
		return types.TypeAndValue{}, &evalError{at, where.Msg}
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
