package directive

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/directive/option"
)

// Parse reads the directive in a comment that begins with [Marker]. It reports
// all that is wrong with it, not the first thing only. Pos is that of the
// comment.
func Parse(comment string, pos token.Pos) (*Lock, Problems) {
	var problems Problems
	l := &Lock{Pos: pos}
	l.Args, l.tab = split(strings.TrimPrefix(comment, Marker), pos+token.Pos(len(Marker)), &problems)
	l.read(&problems)
	if len(problems) == 0 {
		l.validate(&problems)
	}
	return l, problems
}

// reader is how the value of one option is read.
type reader struct {
	name  string
	read  func(l *Lock, a Arg) error
	flag  bool // may stand without a value
	again bool // may be given more than once
}

var options = []reader{
	field("prefix"),
	field("value"),
	field("paramLock"),
	{name: "param", read: readParam, again: true},
	{name: "key", read: readKey, again: true},
	{name: "hasher", read: func(l *Lock, a Arg) (err error) { l.Hasher, err = expr(a); return err }},
	field("keyTimeout"),
	field("retryCount"),
	field("retryInterval"),
	field("maxWait"),
	field("mode"),
	field("permits"),
	field("maxHold"),
	field("minHold"),
	field("fencing"),
	field("noWatchdog"),
	field("maxWaiters"),
	{name: "as", read: readAs},
	{name: "locker", read: func(l *Lock, a Arg) (err error) { l.Locker, err = expr(a); return err }},
}

// field is an option that is a field of [distlock.Opts].
func field(name string) reader {
	f, ok := option.Find(name)
	if !ok {
		panic("directive: there is no option " + name)
	}
	return reader{name: name, flag: f.Flag, read: func(l *Lock, a Arg) error { return f.Set(&l.Opts, a.Value) }}
}

// Options returns the names of all options.
func Options() []string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.name
	}
	return names
}

func (l *Lock) read(problems *Problems) {
	seen := map[string]bool{}
	for _, a := range l.Args {
		i := slices.IndexFunc(options, func(o reader) bool { return o.name == a.Name })
		if i < 0 {
			problems.add(a.Pos, "%s", unknown(a.Name))
			continue
		}
		o := options[i]
		switch {
		case seen[a.Name] && !o.again:
			problems.add(a.Pos, "%s is given twice", a.Name)
			continue
		case !a.HasValue && !o.flag, a.HasValue && a.Value == "":
			problems.add(a.Pos, "%s has no value: write %s:…", a.Name, a.Name)
			continue
		}
		seen[a.Name] = true
		if err := o.read(l, a); err != nil {
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
	if l.Hasher != nil && !l.Opts.ParamLock {
		problems.add(l.pos("hasher"), "hasher is set but no parameters take part in the key: add paramLock, param or key")
	}
}

// validate asks the kit, which says what makes no sense, field by field.
func (l *Lock) validate(problems *Problems) {
	err := l.Opts.Validate()
	if err == nil {
		return
	}
	if wrapped := new(distlock.Error); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	for _, err := range flatten(err) {
		field, rest, _ := strings.Cut(err.Error(), " ")
		switch field {
		case "Value":
			problems.add(l.Pos, "value is missing: the key needs a name, value:…")
		case "Prefix+Value":
			problems.add(l.pos("value"), "prefix and value: %s", rest)
		default:
			name := strings.ToLower(field[:1]) + field[1:]
			problems.add(l.pos(name), "%s %s", name, rest)
		}
	}
}

// flatten takes apart what errors.Join joined.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) // the very error, not one that it wraps
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, flatten(err)...)
	}
	return all
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
		return errors.New(strconv.Quote(a.Value) + " is no name of a parameter; for an expression write key:" + a.Value)
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
		return errors.New(strconv.Quote(a.Value) + " is no Go name")
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
		bad := &exprError{what: strconv.Quote(a.Value) + " is no Go expression: " + err.Error()}
		if list := (scanner.ErrorList)(nil); errors.As(err, &list) && len(list) > 0 {
			bad.what = strconv.Quote(a.Value) + " is no Go expression: " + list[0].Msg
			bad.offset = min(list[0].Pos.Offset, len(a.Value))
		}
		return nil, bad
	}
	return &Expr{Text: a.Value, Node: node, Pos: a.ValuePos}, nil
}
