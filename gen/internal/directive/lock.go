package directive

import (
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/distlock-go/distlock"
)

// Lock is a parsed directive.
type Lock struct {
	Pos  token.Pos // of the slashes
	Text string    // all options
	Args []Arg

	Opts  distlock.Opts    // without Params, Hasher and KeyFormat, which are expressions
	Parts []*Expr          // that take part in the key, as ordered in the directive; if none, see Opts.ParamLock
	Exprs map[string]*Expr // the values of hasher, keyFormat and locker, as far as they are given
	As    string           // the name of what is generated; "": the default
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

// The beginnings of directives.
const (
	Marker = "//distlock:lock"  // above a function or a method of an interface
	Allow  = "//distlock:allow" // on the line of a use of a locked function, or above it
)

// marker returns the beginning of a directive, or "" for any other comment.
func marker(comment string) string {
	for _, m := range []string{Marker, Allow} {
		if rest, ok := strings.CutPrefix(comment, m); ok && (rest == "" || strings.ContainsAny(rest[:1], " \t\r")) {
			return m
		}
	}
	return ""
}

// Arg is one option as written.
type Arg struct {
	Name     string
	Value    string
	HasValue bool // there is a colon
	Pos      token.Pos
	ValuePos token.Pos // of the first character of the value, after a quote
	bare     bool      // the value has no quotes
}

// option is an option and the white space after it. Its groups are the name, the colon, and
// the value in double quotes, in single quotes, and without quotes.
var option = regexp.MustCompile(`^([^\s:="']+)(?:(:)(?:"([^"]*)"|'([^']*)'|([^\s"']*)))?(?:\s+|$)`)

// split cuts text, which stands at pos, into options. rest is what it cannot read.
func split(text string, pos token.Pos) (all []Arg, rest string) {
	rest = strings.TrimLeftFunc(text, unicode.IsSpace)
	for {
		m := option.FindStringSubmatchIndex(rest)
		if m == nil {
			return all, rest
		}
		at := pos + token.Pos(len(text)-len(rest))
		a := Arg{Name: rest[m[2]:m[3]], HasValue: m[4] >= 0, Pos: at}
		for group := 6; group < len(m); group += 2 {
			if from, to := m[group], m[group+1]; from >= 0 {
				a.Value, a.ValuePos, a.bare = rest[from:to], at+token.Pos(from), group == 10
			}
		}
		all, rest = append(all, a), rest[m[1]:]
	}
}
