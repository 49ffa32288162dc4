package directive

import (
	"go/token"
	"regexp"
	"strings"
	"unicode"
)

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
