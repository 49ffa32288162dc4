package directive

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Site is a function or a method of an interface with its directive.
type Site struct {
	Comment *ast.Comment
	Lock    *Lock
	File    *ast.File
	Func    *ast.FuncDecl // nil if it is a method of an interface

	Interface *ast.TypeSpec
	Method    *ast.Field

	// Check sets these.
	Sig      *types.Signature
	Ctx      int                  // which parameter is the context
	Packages map[string]token.Pos // names in expressions that may be packages which the file does not import
}

// Name returns the name of the function or method.
func (s *Site) Name() *ast.Ident {
	if s.Func != nil {
		return s.Func.Name
	}
	return s.Method.Names[0]
}

// FullName returns the name, behind the receiver's type or the interface: Service.pay.
func (s *Site) FullName() string {
	switch {
	case s.Func == nil:
		return s.Interface.Name.Name + "." + s.Name().Name
	case s.Func.Recv == nil:
		return s.Name().Name
	}
	typ := types.ExprString(s.Func.Recv.List[0].Type)
	typ, _, _ = strings.Cut(strings.TrimLeft(typ, "*("), "[")
	return strings.TrimRight(typ, ")") + "." + s.Name().Name
}

// Type returns the type of the function or method.
func (s *Site) Type() *ast.FuncType {
	if s.Func != nil {
		return s.Func.Type
	}
	return s.Method.Type.(*ast.FuncType) // Collect takes no others
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

// Locker returns the expression for the Locker of a function, from the directive. The default
// is the field locker of the receiver, or the variable locker of the package.
func (s *Site) Locker(receiver string) string {
	switch {
	case s.Lock.Exprs["locker"] != nil:
		return s.Lock.Exprs["locker"].Text
	case s.Func.Recv != nil:
		return receiver + ".locker"
	default:
		return "locker"
	}
}

// Generated returns the name of the function or type that is generated.
func (s *Site) Generated() string {
	switch {
	case s.Lock.As != "":
		return s.Lock.As
	case s.Func != nil:
		return inCase(s.Func.Name.Name, unicode.ToUpper)
	case s.Interface.Name.IsExported():
		return "Locked" + s.Interface.Name.Name
	default:
		return "locked" + inCase(s.Interface.Name.Name, unicode.ToUpper)
	}
}

// inCase returns the name with another case of its first letter.
func inCase(name string, to func(rune) rune) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(to(r)) + name[n:]
}
