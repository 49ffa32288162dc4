package directive

import (
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marker is the beginning of every directive.
const Marker = "//distlock:lock"

// Arg is one option as written.
type Arg struct {
	Name     string
	Value    string
	HasValue bool // there is a colon
	Pos      token.Pos
	ValuePos token.Pos // of the first character of the value, after a quote
}

// split cuts text, which stands at pos, into options.
func split(text string, pos token.Pos, problems *Problems) []Arg {
	var args []Arg
	s := lexer{text: text, pos: pos}
	for s.space(); s.text != ""; s.space() {
		if arg, ok := s.option(problems); ok {
			args = append(args, arg)
		}
	}
	return args
}

type lexer struct {
	text string
	pos  token.Pos
}

func (s *lexer) take(n int) string {
	taken := s.text[:n]
	s.text, s.pos = s.text[n:], s.pos+token.Pos(n)
	return taken
}

func (s *lexer) space() {
	s.take(len(s.text) - len(strings.TrimLeftFunc(s.text, unicode.IsSpace)))
}

// word takes the text up to the next white space.
func (s *lexer) word() string {
	n := strings.IndexFunc(s.text, unicode.IsSpace)
	if n < 0 {
		n = len(s.text)
	}
	return s.take(n)
}

func (s *lexer) option(problems *Problems) (Arg, bool) {
	arg := Arg{Pos: s.pos}
	n := strings.IndexFunc(s.text, func(r rune) bool { return r == ':' || unicode.IsSpace(r) })
	if n < 0 {
		n = len(s.text)
	}
	arg.Name = s.take(n)
	name, value, equals := strings.Cut(arg.Name, "=")
	if strings.ContainsAny(name, `"'`) {
		word := arg.Name + s.word()
		problems.add(arg.Pos, "%s: a quote where an option begins: quotes go around a value, as in key:'a + \"b\"'", word)
		return arg, false
	}
	if equals {
		problems.add(arg.Pos, "%s=%s: write a colon, %s:%s", name, value+s.word(), name, value)
		return arg, false
	}
	if s.text == "" || s.text[0] != ':' {
		return arg, true
	}
	s.take(1)
	arg.HasValue, arg.ValuePos = true, s.pos
	if s.text == "" {
		return arg, true
	}
	if quote := s.text[0]; quote == '"' || quote == '\'' {
		return s.quoted(arg, quote, problems)
	}
	arg.Value = s.word()
	if i := strings.IndexAny(arg.Value, `"'`); i >= 0 {
		around := "'"
		if strings.Contains(arg.Value, "'") {
			around = `"`
		}
		problems.add(arg.ValuePos+token.Pos(i), "%s: a quote inside of a value: quotes go around the whole value, %s:%s%s%s",
			arg.Name, arg.Name, around, arg.Value, around)
		return arg, false
	}
	return arg, true
}

func (s *lexer) quoted(arg Arg, quote byte, problems *Problems) (Arg, bool) {
	n := strings.IndexByte(s.text[1:], quote)
	if n < 0 {
		problems.add(s.pos, "%s: the quote %c is not closed", arg.Name, quote)
		s.take(len(s.text))
		return arg, false
	}
	s.take(1)
	arg.ValuePos = s.pos
	arg.Value = s.take(n)
	s.take(1)
	if s.text != "" {
		if r, _ := utf8.DecodeRuneInString(s.text); !unicode.IsSpace(r) {
			problems.add(s.pos, "%s: %s after the closing quote: a space must follow", arg.Name, s.word())
			return arg, false
		}
	}
	return arg, true
}
