package directive

import (
	"go/token"
	"regexp"
	"strings"
	"unicode"
)

// The beginnings of directives.
const (
	Marker   = "//distlock:lock"     // above a function or a method of an interface
	Defaults = "//distlock:defaults" // above a package clause
	Allow    = "//distlock:allow"    // on the line of a use of a locked function, or above it
)

// marker returns the beginning of a directive, or "" for any other comment.
func marker(comment string) string {
	for _, m := range []string{Marker, Defaults, Allow} {
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
}

// option is an option and the white space after it. Its groups are the name, the colon, and
// the value in double quotes, in single quotes, and without quotes.
var option = regexp.MustCompile(`^([^\s:="']+)(?:(:)(?:"([^"]*)"|'([^']*)'|([^\s"']*)))?(?:\s+|$)`)

// split cuts text, which stands at pos, into options. It stops at what is not an option.
func split(text string, pos token.Pos, problems *Problems) []Arg {
	var args []Arg
	for at := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace)); at < len(text); {
		m := option.FindStringSubmatchIndex(text[at:])
		here := pos + token.Pos(at)
		if m == nil {
			word := strings.Fields(text[at:])[0]
			problems.add(here, `%s: options are name:value, with quotes around a whole value that has spaces or quotes, as in key:'a + "b"'`, word)
			break
		}
		arg := Arg{Name: text[at+m[2] : at+m[3]], HasValue: m[4] >= 0, Pos: here}
		for group := 6; group < len(m); group += 2 {
			if m[group] >= 0 {
				arg.Value, arg.ValuePos = text[at+m[group]:at+m[group+1]], here+token.Pos(m[group])
			}
		}
		args = append(args, arg)
		at += m[1]
	}
	return args
}
