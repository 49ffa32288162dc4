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
// pos. It reports all problems, not only the first.
func Parse(comment string, pos token.Pos) (*Lock, Problems) {
	var problems Problems
	l := &Lock{Pos: pos}
	l.Args = split(strings.TrimPrefix(comment, Marker), pos+token.Pos(len(Marker)), &problems)
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
		switch f.Name {
		case "Params":
			all = append(all, reader{name: "param", read: readParam, again: true}, reader{name: "key", read: readKey, again: true})
		case "Hasher":
			all = append(all, reader{name: f.Directive(), read: func(l *Lock, a Arg) (err error) { l.Hasher, err = expr(a); return err }})
		case "KeyFormat":
			all = append(all, reader{name: f.Directive(), read: func(l *Lock, a Arg) (err error) { l.KeyFormat, err = expr(a); return err }})
		default:
			all = append(all, reader{
				name: f.Directive(), alone: f.IsBool(), read: func(l *Lock, a Arg) error { return f.Set(&l.Opts, a.Value) },
			})
		}
	}
	return append(all,
		reader{name: "as", read: readAs},
		reader{name: "locker", read: func(l *Lock, a Arg) (err error) { l.Locker, err = expr(a); return err }},
	)
}

// Options returns the names of all options.
func Options() []string {
	names := make([]string, len(readers))
	for i, r := range readers {
		names[i] = r.name
	}
	return names
}

func (l *Lock) read(problems *Problems) {
	seen := map[string]bool{}
	for _, a := range l.Args {
		i := slices.IndexFunc(readers, func(r reader) bool { return r.name == a.Name })
		if i < 0 {
			problems.add(a.Pos, "%s", unknown(a.Name))
			continue
		}
		r := readers[i]
		switch {
		case seen[a.Name] && !r.again:
			problems.add(a.Pos, "%s is given twice", a.Name)
			continue
		case !a.HasValue && !r.alone, a.HasValue && a.Value == "":
			problems.add(a.Pos, "%s has no value: write %s:…", a.Name, a.Name)
			continue
		}
		seen[a.Name] = true
		if err := r.read(l, a); err != nil {
			at := a.Pos
			if where := new(exprError); errors.As(err, &where) {
				at = a.ValuePos + token.Pos(where.offset)
			}
			problems.add(at, "%s: %v", a.Name, err)
		}
	}
	if len(l.Parts) > 0 {
		if a, ok := l.find("paramLock"); ok && a.Value == "false" {
			problems.add(a.Pos, "paramLock is false but %s takes part in the key", l.Parts[0].Text())
		}
		l.Opts.ParamLock = true
	}
	switch {
	case l.Hasher != nil && l.KeyFormat != nil:
		problems.add(l.pos("hasher"), "hasher is set but keyFormat makes the whole key")
	case l.Hasher != nil && !l.Opts.ParamLock:
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
	if strings.EqualFold(name, "params") {
		return "unknown option " + name + ": select parameters with param:name or key:expression"
	}
	if near := nearest(name, Options()); near != "" {
		return "unknown option " + name + ": did you mean " + near + "?"
	}
	return "unknown option " + name + ": there are " + strings.Join(Options(), ", ")
}

func readParam(l *Lock, a Arg) error {
	if !token.IsIdentifier(a.Value) || a.Value == "_" {
		return errors.New(strconv.Quote(a.Value) + " is not the name of a parameter; for an expression write key:" + a.Value)
	}
	l.Parts = append(l.Parts, Part{Param: a.Value, Pos: a.ValuePos})
	return nil
}

func readKey(l *Lock, a Arg) error {
	e, err := expr(a)
	if err != nil {
		return err
	}
	l.Parts = append(l.Parts, Part{Expr: e, Pos: a.ValuePos})
	return nil
}

func readAs(l *Lock, a Arg) error {
	if !token.IsIdentifier(a.Value) || a.Value == "_" {
		return errors.New(strconv.Quote(a.Value) + " is not a Go name")
	}
	l.As = a.Value
	return nil
}

// exprError is a syntax error in an expression.
type exprError struct {
	what   string
	offset int
}

func (e *exprError) Error() string { return e.what }

func expr(a Arg) (*Expr, error) {
	node, err := parser.ParseExpr(a.Value)
	if err != nil {
		bad := &exprError{what: strconv.Quote(a.Value) + " is not a Go expression: " + err.Error()}
		if list := (scanner.ErrorList)(nil); errors.As(err, &list) && len(list) > 0 {
			bad.what = strconv.Quote(a.Value) + " is not a Go expression: " + list[0].Msg
			bad.offset = min(list[0].Pos.Offset, len(a.Value))
		}
		return nil, bad
	}
	return &Expr{Text: a.Value, Node: node, Pos: a.ValuePos}, nil
}
