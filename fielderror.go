package distlock

import (
	"fmt"
	"strings"
)

// fieldError says what is wrong with a field of [Opts]. Names of fields are apart
// from the rest of the text, because a user may know the field by another name: in
// a directive, on the command line or in a .proto file. Package internal/optfield
// translates them.
type fieldError struct {
	field  string // two fields that make one text are joined by "+"
	format string // of what is wrong with it
	args   []any  // a fieldName among them is translated too
}

// fieldName is the name of a field of [Opts].
type fieldName string

func fieldErrorf(field, format string, args ...any) *fieldError {
	return &fieldError{field, format, args}
}

func (e *fieldError) Error() string {
	return e.Rename(func(field string) string { return field })
}

// Fields returns the names of the fields.
func (e *fieldError) Fields() []string { return strings.Split(e.field, "+") }

// Rename returns the text of the error with other names for all fields in it.
func (e *fieldError) Rename(name func(field string) string) string {
	names := e.Fields()
	for i := range names {
		names[i] = name(names[i])
	}
	args := make([]any, len(e.args))
	for i, arg := range e.args {
		if field, ok := arg.(fieldName); ok {
			arg = name(string(field))
		}
		args[i] = arg
	}
	return strings.Join(names, "+") + " " + fmt.Sprintf(e.format, args...)
}
