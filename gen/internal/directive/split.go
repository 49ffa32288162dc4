package directive

import (
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	// option is an option and the white space after it. Its groups are the name, the colon, and
	// the value in double quotes, in single quotes, and without quotes.
	option = regexp.MustCompile(`^([^\s:="']+)(?:(:)(?:"([^"]*)"|'([^']*)'|([^\s"']*)))?(?:\s+|$)`)

	beginning = regexp.MustCompile(`^([\pL_][\pL\pN_-]*)(\s*(?::=|[:=]))?`)  // of an option, or of what is meant as one
	java      = regexp.MustCompile(`^\s*(?:@\s*)?(?:DistributedLock\s*)?\(`) // the beginning of an annotation
	quotes    = map[string]string{`"`: `"`, `'`: `'`, "`": "`", "“": "”", "„": "“", "‘": "’"}
)

const separators = " \t\r\n,;"

// split cuts text, which stands at pos, into options. It is lenient: there may be commas
// between options, equals signs, quotes or spaces around values, or a whole annotation of Java.
// rest is what cannot be read even so.
func split(text string, pos token.Pos) (all []Arg, rest string) {
	rest = text
	if head := java.FindString(text); head != "" {
		text = strings.TrimSuffix(strings.TrimRight(text, separators), ")")
		rest = text[len(head):]
	}
	for {
		rest = strings.TrimLeft(rest, separators+":=")
		m := beginning.FindStringSubmatchIndex(rest)
		if m == nil {
			return all, rest
		}
		a := Arg{Name: rest[m[2]:m[3]], HasValue: m[4] >= 0, Pos: pos + token.Pos(len(text)-len(rest))}
		rest = rest[m[1]:]
		if tail := strings.TrimLeft(rest, " \t"); a.HasValue && (tail == rest || !begins(tail)) {
			a.Value, rest = value(a, tail)
			a.ValuePos = pos + token.Pos(len(text)-len(tail)+strings.Index(tail, a.Value))
		}
		all = append(all, a)
	}
}

// isWritten reports whether a directive may have the option as it is written in text, which
// ends where the next option begins.
func (a Arg) isWritten(text string) bool {
	m := option.FindStringSubmatch(text)
	return len(m) > 0 && m[0] == text && m[1] == a.Name && (m[2] != "") == a.HasValue && m[3]+m[4]+m[5] == a.Value
}

// rightUntil returns where the first option begins that a directive may not have as it is
// written, or the length of the text.
func rightUntil(text string, begin token.Pos, all []Arg, rest string) int {
	end := len(text) - len(rest)
	until := end
	for _, a := range slices.Backward(all) {
		at := int(a.Pos - begin)
		if !a.isWritten(text[at:end]) {
			until = at
		}
		end = at
	}
	if first := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace)); first < end {
		return first
	}
	return until
}

// value splits the text behind the colon of an option. A Go expression may have spaces.
func value(a Arg, text string) (value, rest string) {
	r, _ := resolve(a)
	for open, end := range quotes {
		if inner, quoted := strings.CutPrefix(text, open); quoted && (open != "`" || !r.code) {
			value, rest, found := strings.Cut(inner, end)
			if found && (rest == "" || strings.ContainsAny(rest[:1], separators)) {
				return value, rest
			}
		}
	}
	for at := 0; at < len(text); at++ {
		if c := text[at]; r.code && strings.IndexByte("\"'`", c) >= 0 {
			at += 1 + max(0, strings.IndexByte(text[at+1:], c))
			continue
		}
		tail := strings.TrimLeft(text[at:], separators)
		if gap := text[at : len(text)-len(tail)]; gap != "" && (tail == "" || begins(tail) || !r.code && strings.ContainsAny(gap, " \t\r\n")) {
			return text[:at], tail
		}
	}
	return text, ""
}

// begins reports whether an option begins the text.
func begins(text string) bool {
	m := beginning.FindStringSubmatchIndex(text)
	if m == nil {
		return false
	}
	r, known := resolve(Arg{Name: text[m[2]:m[3]]})
	ends := m[1] == len(text) || strings.ContainsAny(text[m[1]:m[1]+1], separators)
	return known && (m[4] >= 0 && !strings.HasPrefix(text[m[1]:], "=") || r.alone && ends)
}
