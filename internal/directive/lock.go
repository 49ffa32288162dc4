package directive

import (
	"go/ast"
	"go/token"

	"github.com/distlock-go/distlock"
)

// Lock is one directive, understood.
type Lock struct {
	Pos  token.Pos // of its slashes
	Args []Arg     // as they were written
	tab  token.Pos // where a tab is between them, if there is one

	// Opts is what the directive says of them; Params and Hasher, which are
	// expressions, are nil.
	Opts   distlock.Opts
	Parts  []Part // what takes part in the key, in the order in which it was written; none: see Opts.ParamLock
	Hasher *Expr
	Locker *Expr
	As     string // what is generated; "": the default
}

// Part is a parameter or an expression that takes part in the key.
type Part struct {
	Param string // the parameter's name, or "" if it is an expression
	Expr  *Expr
	Pos   token.Pos
}

// Expr is a Go expression inside of a directive.
type Expr struct {
	Text string
	Node ast.Expr  // its positions count from 1, the first character
	Pos  token.Pos // of the first character
}

// At turns a position inside of the expression into one in the file.
func (e *Expr) At(pos token.Pos) token.Pos {
	if !pos.IsValid() {
		return e.Pos
	}
	return e.Pos + pos - 1
}

// Text is the name or the expression.
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

// pos returns where the option stands, or the directive if it does not.
func (l *Lock) pos(name string) token.Pos {
	if arg, ok := l.find(name); ok {
		return arg.Pos
	}
	return l.Pos
}
