package directive

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock/internal/optfield"
)

// Parse reads the directive in a comment that begins with [Marker] or [Defaults] and stands at
// pos. A lock has the defaults of its package, if they are not nil. Parse reports all problems
// with options, or one that says how the whole comment is right, if that is known. A comment
// that can be read but is hardly meant as it is read has a problem, too.
func Parse(comment string, pos token.Pos, defaults *Lock) (*Lock, Problems) {
	l, problems := parse(comment, pos, defaults)
	m := marker(comment)
	g := mend(m, comment[len(m):], defaults)
	for i, a := range l.Args {
		if len(problems) == 0 && (i >= len(g.args) || g.args[i].Name != a.Name || g.args[i].Value != a.Value) {
			problems.add(a.Pos, "%q is hardly meant as the value of %s: options are separated by spaces, and a value may have quotes around it", a.Value, a.Name)
		}
	}
	return l, problems.mend(pos, comment, g)
}

// parse is [Parse] by the letter.
func parse(comment string, pos token.Pos, defaults *Lock) (*Lock, Problems) {
	var problems Problems
	m := marker(comment)
	text := strings.TrimPrefix(comment, m)
	l := &Lock{Pos: pos, Text: strings.Join(strings.Fields(text), " "), Exprs: map[string]*Expr{}, defaults: m == Defaults}
	if l.Args = split(text, pos+token.Pos(len(m)), &problems); len(problems) > 0 {
		return l, problems
	}
	switch {
	case defaults != nil:
		l.Opts, l.Exprs = defaults.Opts, maps.Clone(defaults.Exprs)
		l.Text += "; package defaults: " + defaults.Text
	case l.defaults && len(l.Args) == 0:
		problems.add(pos, "no defaults: write %s keyTimeout:…", Defaults)
	}
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

func (l *Lock) read(problems *Problems) {
	seen := map[string]bool{}
	for _, a := range l.Args {
		i := slices.IndexFunc(readers, func(r reader) bool { return r.name == a.Name })
		switch {
		case i < 0:
			*problems = append(*problems, l.unknown(a))
		case l.defaults && readers[i].own != "":
			problems.add(a.Pos, "%s cannot be a default: %s", a.Name, readers[i].own)
		case seen[a.Name] && !readers[i].again:
			problems.add(a.Pos, "%s is given twice", a.Name)
		case !a.HasValue && !readers[i].alone, a.HasValue && (a.Value == "" || a.Value == ellipsis):
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
			if !l.defaults {
				problems.add(l.Pos, "value is missing: the key needs a name, value:…")
			}
			continue
		}
		problems.add(l.pos(name), "%s", fault.Rename(optfield.DirectiveName))
	}
}

// unknown returns the problem of an option with an unknown name.
func (l *Lock) unknown(a Arg) Problem {
	var names []string
	for _, r := range readers {
		if !l.defaults || r.own == "" {
			names = append(names, r.name)
		}
	}
	p := Problem{Pos: a.Pos, Message: "unknown option " + a.Name + ": there are " + strings.Join(names, ", ")}
	switch near := meant(a, func(r reader) bool { return !l.defaults || r.own == "" }); {
	case strings.EqualFold(a.Name, "params"):
		p.Message = "unknown option " + a.Name + ": select parameters with param:name or key:expression"
	case near != "":
		p.Message = "unknown option " + a.Name + ": did you mean " + near + "?"
	}
	return p
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
