package directive

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mended is a directive as it is certainly or probably meant. Its text is read leniently: with
// commas between its options, equals signs, quotes or spaces around values, names that are
// misspelt, numbers without a unit, or a whole annotation of Java.
type mended struct {
	args    []Arg
	line    string // the whole comment, right; "": not known
	certain bool
}

// mend reads the text behind the marker m.
func mend(m, text string, defaults *Lock) mended {
	g := mended{certain: true}
	args, whole := lenient(text)
	var seen []Arg
	for _, a := range args {
		r, known := resolve(a)
		if !known {
			g.args, whole = append(g.args, a), false
			continue
		}
		a.Name, a.HasValue = r.name, a.HasValue && (!r.alone || a.Value != "true")
		value, certain, ok := r.mend(a)
		if a.Value = value; r.name == "param" && !ok && strings.Contains(value, ".") {
			a.Name = "key"
			_, err := expr(a)
			ok = err == nil
		}
		g.args, whole, g.certain = append(g.args, a), whole && ok, g.certain && certain
		same := slices.IndexFunc(seen, func(b Arg) bool { return b.Name == a.Name && !r.again })
		switch {
		case m == Defaults && r.own != "": // it has to go
			g.certain = false
		case same >= 0:
			g.certain = g.certain && seen[same].Value == a.Value
		default:
			seen = append(seen, a)
		}
	}
	if slices.ContainsFunc(seen, func(a Arg) bool { return a.Name == "param" || a.Name == "key" }) {
		seen = slices.DeleteFunc(seen, func(a Arg) bool { return a.Name == "paramLock" && a.Value == "false" })
	}
	if !whole || len(seen) == 0 {
		return g
	}
	line := written(m, seen)
	if _, problems := parse(line, 1, defaults); len(problems) == 0 {
		g.line = line
	} else if _, problems = parse(line+" value:a", 1, defaults); len(problems) == 0 {
		g.line, g.certain = line+" value:"+ellipsis, false
	}
	return g
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
	switch again, _ := lenient(bare); {
	case !a.HasValue:
		return a.Name
	case option.FindString(bare) == bare && len(again) == 1 && again[0].Value == a.Value:
		return bare
	case strings.Contains(a.Value, `"`):
		return a.Name + ":'" + a.Value + "'"
	default:
		return a.Name + `:"` + a.Value + `"`
	}
}

var (
	java      = regexp.MustCompile(`^\s*(?:@\s*)?(?:DistributedLock\s*)?\(`) // the beginning of an annotation
	beginning = regexp.MustCompile(`^([\pL_][\pL\pN_-]*)(\s*(?::=|[:=]))?`)  // of an option
	quotes    = map[string]string{`"`: `"`, `'`: `'`, "`": "`", "“": "”", "„": "“", "‘": "’"}
)

const separators = " \t\r\n,;"

// ellipsis stands for a value in a line that says how a comment is right.
const ellipsis = "…"

// lenient splits the text into options, and reports whether all of it is one.
func lenient(text string) (all []Arg, whole bool) {
	if at := java.FindString(text); at != "" {
		text = strings.TrimSuffix(strings.TrimRight(text[len(at):], separators), ")")
	}
	for {
		text = strings.TrimLeft(text, separators+":=")
		m := beginning.FindStringSubmatchIndex(text)
		if m == nil {
			return all, text == ""
		}
		a := Arg{Name: text[m[2]:m[3]], HasValue: m[4] >= 0}
		text = text[m[1]:]
		if rest := strings.TrimLeft(text, " \t"); a.HasValue && (rest == text || !begins(rest)) {
			a.Value, text = value(a, rest)
		}
		all = append(all, a)
	}
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

// resolve returns the reader of the option that a is, or is meant to be.
func resolve(a Arg) (r reader, known bool) {
	name := a.Name
	for {
		i := slices.IndexFunc(readers, func(r reader) bool { return r.name == name })
		if i >= 0 {
			return readers[i], true
		}
		if name = meant(a, func(reader) bool { return true }); name == "" {
			return reader{}, false
		}
	}
}

// meant returns the name of the option of the right kind that a.Name is like, or that begins
// with it and can have its value, as retryCount for retry:3; or "" if none or several do.
func meant(a Arg, right func(reader) bool) string {
	var names, begun []string
	begins := false
	for _, r := range readers {
		if !right(r) {
			continue
		}
		names = append(names, r.name)
		if len(a.Name) >= 5 && strings.HasPrefix(r.name, a.Name) {
			begins = true
			if r.read(&Lock{Exprs: map[string]*Expr{}}, a) == nil {
				begun = append(begun, r.name)
			}
		}
	}
	switch {
	case len(begun) == 1:
		return begun[0]
	case begins:
		return ""
	default:
		return nearest(a.Name, names)
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
