package directive

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"strconv"

	"github.com/distlock-go/distlock/internal/optfield"
)

// reader reads the value of one option.
type reader struct {
	name  string
	read  func(l *Lock, a Arg) error
	alone bool // may stand without a value
	again bool // may be given more than once
	code  bool // the value is a Go expression
}

var readers = makeReaders()

func makeReaders() []reader {
	var all []reader
	for _, f := range optfield.All() {
		switch {
		case f.Name == "Params":
			all = append(all, reader{name: "param", read: readParam, again: true}, reader{name: "key", read: readKey, again: true, code: true})
		case f.Of == nil:
			all = append(all, reader{name: f.Directive(), read: readExpr, code: true})
		default:
			all = append(all, reader{name: f.Directive(), alone: f.IsBool(), read: func(l *Lock, a Arg) error { return f.Set(&l.Opts, a.Value) }})
		}
	}
	return append(all, reader{name: "as", read: readAs}, reader{name: "locker", read: readExpr, code: true})
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
