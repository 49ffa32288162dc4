package directive

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/optfield"
)

// annotationName begins the annotation of Java.
const annotationName = "@DistributedLock"

// attributes matches the attributes of an annotation, and nothing else.
var (
	attribute  = regexp.MustCompile(`([A-Za-z]\w*)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,()"]+)`)
	attributes = regexp.MustCompile(`^\s*\(?\s*` + attribute.String() + `(?:\s*,\s*` + attribute.String() + `)*\s*,?\s*\)?\s*$`)
)

// annotation reads the attributes of Java's annotation, in a comment that begins with the
// annotation or with [Marker] and may go on in the next lines. It returns the directive
// for them.
func annotation(comments []*ast.Comment) (written string, ok bool) {
	text := strings.TrimLeft(strings.TrimPrefix(comments[0].Text, "//"), " \t")
	genuine := strings.HasPrefix(comments[0].Text, Marker)
	if genuine {
		text = strings.TrimPrefix(comments[0].Text, Marker)
	} else if text, ok = strings.CutPrefix(text, annotationName); !ok || !strings.HasPrefix(strings.TrimSpace(text), "(") {
		return "", false
	}
	for _, c := range comments[1:] {
		if strings.Contains(text, ")") || !strings.Contains(text, "(") {
			break
		}
		text += " " + strings.TrimPrefix(c.Text, "//")
	}
	if !attributes.MatchString(text) {
		return "", false
	}
	written = Marker
	for _, m := range attribute.FindAllStringSubmatch(text, -1) {
		written += translated(m[1], m[2])
	}
	return written, true
}

// translated returns the option for an attribute, with a space before it.
func translated(name, value string) string {
	if text, err := strconv.Unquote(value); err == nil {
		value = text
	}
	if i := slices.IndexFunc(Options(), func(o string) bool { return strings.EqualFold(o, name) }); i >= 0 {
		name = Options()[i]
	}
	field, _ := optfield.ByDirective(name)
	if field.IsBool() {
		switch value {
		case "true":
			return " " + name
		case "false":
			return ""
		}
	}
	if field.Of != nil {
		if _, is := field.Of(new(distlock.Opts)).(*time.Duration); is {
			if ms, err := strconv.Atoi(strings.TrimRight(value, "lL")); err == nil {
				value = (time.Duration(ms) * time.Millisecond).String()
			}
		}
	}
	if strings.ContainsAny(value, " '") {
		value = `"` + value + `"`
	}
	return " " + name + ":" + value
}

// parseAnnotation parses the directive that stands for an annotation. All positions are
// that of the comment.
func parseAnnotation(written string, pos token.Pos) (*Lock, Problems) {
	lock, problems := Parse(written, pos)
	for i := range problems {
		problems[i].Pos = pos
	}
	for i := range lock.Args {
		lock.Args[i].Pos, lock.Args[i].ValuePos = pos, pos
	}
	for i := range lock.Parts {
		lock.Parts[i].Pos = pos
	}
	for _, e := range lock.Exprs() {
		e.Pos = pos
	}
	problems = append(Problems{{pos, "Java's annotation has no effect here: write " + written}}, problems...)
	return lock, problems
}
