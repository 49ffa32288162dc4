package directive

import (
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Parse reads the directive in a comment that begins with [Marker] or [Defaults] and stands at
// pos. A lock has the defaults of its package, if they are not nil. Parse reports all problems
// with options, or one that says how the whole comment is right, if that is known. A comment
// that is hardly meant as it is written, such as one with commas, has a problem, too.
func Parse(comment string, pos token.Pos, defaults *Lock) (*Lock, Problems) {
	l, problems := parse(comment, pos, defaults)
	if len(problems) == 0 {
		return l, nil
	}
	m := marker(comment)
	line, certain := mend(m, comment[len(m):], defaults)
	return l, problems.mended(pos, comment, line, certain)
}

// mend returns the directive with the marker m and the text as it is meant, and whether that is
// certain, or "". Names may be misspelt, and numbers may have no unit.
func mend(m, text string, defaults *Lock) (line string, certain bool) {
	args, rest := split(text, 0)
	if rest != "" {
		return "", false
	}
	certain = true
	var seen []Arg
	for _, a := range args {
		r, known := resolve(a)
		if !known {
			return "", false
		}
		a.Name, a.HasValue = r.name, a.HasValue && (!r.alone || a.Value != "true")
		value, sure, ok := r.mend(a)
		if a.Value = value; r.name == "param" && !ok && strings.Contains(value, ".") {
			a.Name = "key"
			_, err := expr(a)
			ok = err == nil
		}
		if !ok {
			return "", false
		}
		certain = certain && sure
		same := slices.IndexFunc(seen, func(b Arg) bool { return b.Name == a.Name && !r.again })
		switch {
		case m == Defaults && r.own != "": // it has to go
			certain = false
		case same >= 0:
			certain = certain && seen[same].Value == a.Value
		default:
			seen = append(seen, a)
		}
	}
	if slices.ContainsFunc(seen, func(a Arg) bool { return a.Name == "param" || a.Name == "key" }) {
		seen = slices.DeleteFunc(seen, func(a Arg) bool { return a.Name == "paramLock" && a.Value == "false" })
	}
	if len(seen) == 0 {
		return "", false
	}
	line = written(m, seen)
	if _, problems := parse(line, 1, defaults); len(problems) == 0 {
		return line, certain
	}
	if _, problems := parse(line+" value:a", 1, defaults); len(problems) == 0 {
		return line + " value:" + ellipsis, false
	}
	return "", false
}

// written returns a directive with these options.
func written(m string, args []Arg) string {
	for _, a := range args {
		m += " " + a.String()
	}
	return m
}

// String returns the option as it is written in a directive.
func (a Arg) String() string {
	bare := a.Name + ":" + a.Value
	switch again, _ := split(bare, 0); {
	case !a.HasValue:
		return a.Name
	case len(again) == 1 && again[0].Value == a.Value && again[0].isWritten(bare):
		return bare
	case strings.Contains(a.Value, `"`):
		return a.Name + ":'" + a.Value + "'"
	default:
		return a.Name + `:"` + a.Value + `"`
	}
}

// mend returns the value that is meant, and whether that is certain.
func (r reader) mend(a Arg) (value string, certain, ok bool) {
	original, number := a.Value, strings.TrimRight(a.Value, "lL")
	for i, value := range []string{a.Value, strings.ToLower(a.Value), number, withUnit(number)} {
		a.Value = value
		if (value != "" || r.alone && !a.HasValue) && r.read(&Lock{Exprs: map[string]*Expr{}}, a) == nil {
			return value, i < 2, true
		}
	}
	return original, false, false
}

// withUnit returns a time that has no unit with one: Java's annotation has milliseconds, but
// a small number is one of seconds.
func withUnit(number string) string {
	switch n, err := strconv.Atoi(number); {
	case err != nil:
		return ""
	case n >= 1000 && n%1000 == 0:
		return strconv.Itoa(n/1000) + "s"
	case n >= 100:
		return number + "ms"
	default:
		return number + "s"
	}
}
