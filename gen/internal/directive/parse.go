package directive

import (
	"go/token"
	"slices"
	"strings"
	"unicode"

	"github.com/distlock-go/distlock/internal/optfield"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
)

const syntax = "options are name:value with spaces between them, and quotes around a whole value that has " +
	`spaces, quotes, commas or equals signs, as in key:'a + "b"'`

// Parse reads the directive in a comment that begins with [Marker] and stands at pos. It
// reports all problems.
func Parse(comment string, pos token.Pos) (*Lock, Problems) {
	var problems Problems
	text := strings.TrimRightFunc(strings.TrimPrefix(comment, Marker), unicode.IsSpace)
	l := &Lock{Pos: pos, Text: strings.Join(strings.Fields(text), " "), Exprs: map[string]*Expr{}}
	args, rest := split(text, pos+token.Pos(len(Marker)))
	if l.Args = args; rest != "" {
		problems.add(pos+token.Pos(len(Marker)+len(text)-len(rest)), "%s: "+syntax, strings.Fields(rest)[0])
		return l, problems
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
			problems.add(a.Pos, "unknown option %s: there are %s", a.Name, names())
		case seen[a.Name] && !readers[i].again:
			problems.add(a.Pos, "%s is given twice", a.Name)
		case !a.HasValue && !readers[i].alone, a.HasValue && a.Value == "":
			problems.add(a.Pos, "%s has no value: write %s:…", a.Name, a.Name)
		case a.bare && !readers[i].code && strings.ContainsAny(a.Value, ",;=“”„‘’…"): // hardly meant
			problems.add(a.Pos, "%s:%s: "+syntax, a.Name, a.Value)
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

// names returns the names of the options that a directive may have.
func names() string {
	var all []string
	for _, r := range readers {
		all = append(all, r.name)
	}
	return strings.Join(all, ", ")
}
