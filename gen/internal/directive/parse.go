package directive

import (
	"go/token"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/distlock-go/distlock/internal/optfield"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
)

// parse is [Parse] by the letter.
func parse(comment string, pos token.Pos, defaults *Lock) (*Lock, Problems) {
	var problems Problems
	m := marker(comment)
	text := strings.TrimRightFunc(strings.TrimPrefix(comment, m), unicode.IsSpace)
	l := &Lock{Pos: pos, Text: strings.Join(strings.Fields(text), " "), Exprs: map[string]*Expr{}, defaults: m == Defaults}
	begin := pos + token.Pos(len(m))
	args, rest := split(text, begin)
	l.Args = args
	if at := rightUntil(text, begin, args, rest); at < len(text) {
		problems.add(begin+token.Pos(at), "%s: options are name:value with spaces between them, "+
			`and quotes around a whole value that has spaces or quotes, as in key:'a + "b"'`, strings.Fields(text[at:])[0])
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
