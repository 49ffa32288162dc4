package directive

import (
	"go/token"
	"strings"
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
	bare     bool      // the value has no quotes
}
