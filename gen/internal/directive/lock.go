package directive

import (
	"go/ast"
	"go/token"

	"github.com/distlock-go/distlock"
)

// Lock is a parsed directive.
type Lock struct {
	Pos  token.Pos // of the slashes
	Args []Arg     // as written

	Opts      distlock.Opts // without Params, Hasher and KeyFormat, which are expressions
	Parts     []Part        // that take part in the key, as ordered in the directive; if none, see Opts.ParamLock
	Hasher    *Expr
	KeyFormat *Expr
	Locker    *Expr
	As        string // the name of what is generated; "": the default
}

// Part is a parameter or an expression that takes part in the key.
type Part struct {
	Param string // the parameter's name, or "" if it is an expression
	Expr  *Expr
	Pos   token.Pos
}

// Expr is a Go expression in a directive.
type Expr struct {
	Text string
	Node ast.Expr  // its positions count from 1, the first character
	Pos  token.Pos // of the first character
}

// At turns a position in the expression into a position in the file.
func (e *Expr) At(pos token.Pos) token.Pos {
	if pos < 1 || int(pos) > len(e.Text) {
		return e.Pos
	}
	return e.Pos + pos - 1
}

// Exprs returns all expressions.
func (l *Lock) Exprs() []*Expr {
	var all []*Expr
	for _, p := range l.Parts {
		if p.Expr != nil {
			all = append(all, p.Expr)
		}
	}
	for _, e := range []*Expr{l.Hasher, l.KeyFormat, l.Locker} {
		if e != nil {
			all = append(all, e)
		}
	}
	return all
}

// Text returns the name or the expression.
func (p Part) Text() string {
	if p.Expr != nil {
		return p.Expr.Text
	}
	return p.Param
}

// find returns the first option of that name.
func (l *Lock) find(name string) (Arg, bool) {
	for _, arg := range l.Args {
		if arg.Name == name {
			return arg, true
		}
	}
	return Arg{}, false
}

// pos returns the position of the option, or of the directive if it is not given.
func (l *Lock) pos(name string) token.Pos {
	if arg, ok := l.find(name); ok {
		return arg.Pos
	}
	return l.Pos
}
