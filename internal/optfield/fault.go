package optfield

import "errors"

// Fault is an error of [distlock.Opts.Validate] that is about one field, or about
// several that make one text.
type Fault interface {
	error

	// Fields returns the names of these fields in Go.
	Fields() []string

	// Rename returns the text of the error with other names for all fields in it.
	Rename(name func(field string) string) string
}

// Faults returns the faults in err.
func Faults(err error) []Fault {
	if fault, ok := err.(Fault); ok { //nolint:errorlint // the errors below are unwrapped one by one
		return []Fault{fault}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []Fault
		for _, err := range joined.Unwrap() {
			all = append(all, Faults(err)...)
		}
		return all
	}
	if err = errors.Unwrap(err); err != nil {
		return Faults(err)
	}
	return nil
}

// DirectiveName returns the name in directives of a field of [distlock.Opts].
func DirectiveName(field string) string { return Field{Name: field}.Directive() }

// ProtoName returns the name in .proto files of a field of [distlock.Opts].
func ProtoName(field string) string { return Field{Name: field}.Proto() }

// FlagName returns the flag for a field of [distlock.Opts], with its dash. If there
// is none, it returns the field itself.
func FlagName(field string) string {
	for _, f := range fields {
		if f.Name == field && f.Flag() != "" {
			return "-" + f.Flag()
		}
	}
	return field
}
