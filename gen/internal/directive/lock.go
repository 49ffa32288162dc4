package directive

import (
	"go/token"
	"slices"

	"github.com/distlock-go/distlock"
)

// Lock is a parsed directive.
type Lock struct {
	Pos  token.Pos // of the slashes
	Text string    // all options
	Args []Arg     // without the defaults

	Opts  distlock.Opts    // without Params, Hasher and KeyFormat, which are expressions
	Parts []*Expr          // that take part in the key, as ordered in the directive; if none, see Opts.ParamLock
	Exprs map[string]*Expr // the values of hasher, keyFormat and locker, as far as they are given
	As    string           // the name of what is generated; "": the default

	defaults bool // of a package
}

// Expr is a Go expression in a directive.
type Expr struct {
	Text  string
	Param bool      // it must be the name of a parameter
	Pos   token.Pos // of the first character
}

// find returns the first option of that name.
func (l *Lock) find(name string) (Arg, bool) {
	i := slices.IndexFunc(l.Args, func(a Arg) bool { return a.Name == name })
	if i < 0 {
		return Arg{Pos: l.Pos}, false
	}
	return l.Args[i], true
}

// pos returns the position of the option, or of the directive if it is not given.
func (l *Lock) pos(name string) token.Pos {
	a, _ := l.find(name)
	return a.Pos
}
