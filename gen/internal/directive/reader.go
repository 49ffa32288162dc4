package directive

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock/internal/optfield"
)

// ellipsis stands for a value in a line that says how a comment is right.
const ellipsis = "…"

// reader reads the value of one option.
type reader struct {
	name  string
	read  func(l *Lock, a Arg) error
	alone bool   // may stand without a value
	again bool   // may be given more than once
	code  bool   // the value is a Go expression
	own   string // why it is no default of a package, or ""
}

const ofOne = "it is about one lock"

var readers = makeReaders()

func makeReaders() []reader {
	var all []reader
	for _, f := range optfield.All() {
		switch {
		case f.Name == "Params":
			all = append(all, reader{name: "param", read: readParam, again: true, own: ofOne}, reader{name: "key", read: readKey, again: true, code: true, own: ofOne})
		case f.Name == "Hasher":
			all = append(all, reader{name: f.Directive(), read: readExpr, code: true, own: "distlock.Config has the Hasher of all locks"})
		case f.Of == nil:
			all = append(all, reader{name: f.Directive(), read: readExpr, code: true})
		default:
			r := reader{name: f.Directive(), alone: f.IsBool(), read: func(l *Lock, a Arg) error { return f.Set(&l.Opts, a.Value) }}
			if f.Name == "Value" || f.Name == "ParamLock" {
				r.own = ofOne
			}
			all = append(all, r)
		}
	}
	return append(all, reader{name: "as", read: readAs, own: ofOne}, reader{name: "locker", read: readExpr, code: true})
}

// resolve returns the reader of the option that a is, or is meant to be.
func resolve(a Arg) (r reader, known bool) {
	name := a.Name
	for {
		i := slices.IndexFunc(readers, func(r reader) bool { return r.name == name })
		if i >= 0 {
			return readers[i], true
		}
		if name = meant(a, func(reader) bool { return true }); name == "" {
			return reader{}, false
		}
	}
}

// meant returns the name of the option of the right kind that a.Name is like, or that begins
// with it and can have its value, as retryCount for retry:3; or "" if none or several do.
func meant(a Arg, right func(reader) bool) string {
	var names, begun []string
	begins := false
	for _, r := range readers {
		if !right(r) {
			continue
		}
		names = append(names, r.name)
		if len(a.Name) >= 5 && strings.HasPrefix(r.name, a.Name) {
			begins = true
			if r.read(&Lock{Exprs: map[string]*Expr{}}, a) == nil {
				begun = append(begun, r.name)
			}
		}
	}
	switch {
	case len(begun) == 1:
		return begun[0]
	case begins:
		return ""
	default:
		return nearest(a.Name, names)
	}
}

func readParam(l *Lock, a Arg) error {
	if !token.IsIdentifier(a.Value) || a.Value == "_" {
		return errors.New(strconv.Quote(a.Value) + " is not the name of a parameter; for an expression write key:" + a.Value)
	}
	l.Parts = append(l.Parts, &Expr{Text: a.Value, Param: true, Pos: a.ValuePos})
	return nil
}

func readKey(l *Lock, a Arg) error {
	e, err := expr(a)
	if err == nil {
		l.Parts = append(l.Parts, e)
	}
	return err
}

func readExpr(l *Lock, a Arg) (err error) {
	l.Exprs[a.Name], err = expr(a)
	return err
}

func readAs(l *Lock, a Arg) error {
	if !token.IsIdentifier(a.Value) || a.Value == "_" {
		return errors.New(strconv.Quote(a.Value) + " is not a Go name")
	}
	l.As = a.Value
	return nil
}

func expr(a Arg) (*Expr, error) {
	_, err := parser.ParseExpr(a.Value)
	if list, ok := errors.AsType[scanner.ErrorList](err); ok {
		err = errors.New(strconv.Quote(a.Value) + " is not a Go expression: " + list[0].Msg)
	}
	if err != nil {
		return nil, err
	}
	return &Expr{Text: a.Value, Pos: a.ValuePos}, nil
}
