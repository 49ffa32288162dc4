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

// Parse reads the directive in a comment that begins with [Marker] and stands at
// pos. It reports all problems with options, not only the first.
func Parse(comment string, pos token.Pos) (*Lock, Problems) {
	var problems Problems
	text := strings.TrimPrefix(comment, Marker)
	l := &Lock{Pos: pos, Text: strings.Join(strings.Fields(text), " "), Exprs: map[string]*Expr{}}
	l.Args = split(text, pos+token.Pos(len(Marker)), &problems)
	l.read(&problems)
	if len(problems) == 0 {
		l.validate(&problems)
	}
	return l, problems
}

// reader reads the value of one option.
type reader struct {
	name  string
	read  func(l *Lock, a Arg) error
	alone bool // may stand without a value
	again bool // may be given more than once
}

var readers = makeReaders()

func makeReaders() []reader {
	var all []reader
	for _, f := range optfield.All() {
		switch {
		case f.Name == "Params":
			all = append(all, reader{name: "param", read: readParam, again: true}, reader{name: "key", read: readKey, again: true})
		case f.Of == nil:
			all = append(all, reader{name: f.Directive(), read: readExpr})
		default:
			all = append(all, reader{
				name: f.Directive(), alone: f.IsBool(), read: func(l *Lock, a Arg) error { return f.Set(&l.Opts, a.Value) },
			})
		}
	}
	return append(all, reader{name: "as", read: readAs}, reader{name: "locker", read: readExpr})
}

func (l *Lock) read(problems *Problems) {
	seen := map[string]bool{}
	for _, a := range l.Args {
		i := slices.IndexFunc(readers, func(r reader) bool { return r.name == a.Name })
		switch {
		case i < 0:
			problems.add(a.Pos, "%s", unknown(a.Name))
		case seen[a.Name] && !readers[i].again:
			problems.add(a.Pos, "%s is given twice", a.Name)
		case !a.HasValue && !readers[i].alone, a.HasValue && a.Value == "":
			problems.add(a.Pos, "%s has no value: write %s:…", a.Name, a.Name)
		default:
			seen[a.Name] = true
			if err := readers[i].read(l, a); err != nil {
				problems.add(a.Pos, "%s: %v", a.Name, err)
			}
		}
	}
	if len(l.Parts) > 0 {
		if a, ok := l.find("paramLock"); ok && a.Value == "false" {
			problems.add(a.Pos, "paramLock is false but %s takes part in the key", l.Parts[0].Text)
		}
		l.Opts.ParamLock = true
	}
	switch {
	case l.Exprs["hasher"] == nil:
	case l.Exprs["keyFormat"] != nil:
		problems.add(l.pos("hasher"), "hasher is set but keyFormat makes the whole key")
	case !l.Opts.ParamLock:
		problems.add(l.pos("hasher"), "hasher is set but no parameters take part in the key: add paramLock, param or key")
	}
}

// validate reports what [distlock.Opts.Validate] refuses.
func (l *Lock) validate(problems *Problems) {
	for _, fault := range optfield.Faults(l.Opts.Validate()) {
		fields := fault.Fields()
		name := optfield.DirectiveName(fields[len(fields)-1])
		if _, given := l.find(name); name == "value" && !given {
			problems.add(l.Pos, "value is missing: the key needs a name, value:…")
			continue
		}
		problems.add(l.pos(name), "%s", fault.Rename(optfield.DirectiveName))
	}
}

func unknown(name string) string {
	var names []string
	for _, r := range readers {
		names = append(names, r.name)
	}
	if strings.EqualFold(name, "params") {
		return "unknown option " + name + ": select parameters with param:name or key:expression"
	}
	if near := nearest(name, names); near != "" {
		return "unknown option " + name + ": did you mean " + near + "?"
	}
	return "unknown option " + name + ": there are " + strings.Join(names, ", ")
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
