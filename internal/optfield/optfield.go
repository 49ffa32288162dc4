// Package optfield is the table of the options of a lock: the fields of
// [distlock.Opts], with their names in directives, on the command line and in
// .proto files. Directives, distlockgen, distlock run and grpcmw take their options
// from it.
package optfield

import (
	"errors"
	"strings"
	"unicode"

	"github.com/distlock-go/distlock"
)

// Field is one field of [distlock.Opts].
type Field struct {
	Name string

	// Of returns a pointer to the field of o: a *string, *bool, *int,
	// *time.Duration, *distlock.Mode or *distlock.Reentry. It is nil if the field has no text, because
	// its value is Go code.
	Of func(o *distlock.Opts) any

	// Usage describes the flag of distlock run. It is empty if there is none.
	Usage string

	flag  string // the name of the flag, if it is not Name in kebab case
	proto string // "-" if the option in .proto files has no such field
}

// fields are in the order of [distlock.Opts]. Those without Usage are not flags:
// the key of distlock run is one text, and a command has no parameters and no calls below it.
var fields = []Field{
	{Name: "Prefix", Of: func(o *distlock.Opts) any { return &o.Prefix }},
	{Name: "Value", Of: func(o *distlock.Opts) any { return &o.Value }},
	{Name: "ParamLock", Of: func(o *distlock.Opts) any { return &o.ParamLock }, proto: "-"}, // params imply it
	{Name: "Params"},             // in directives param and key
	{Name: "Hasher", proto: "-"}, // distlock.Config has it
	{Name: "KeyFormat", proto: "-"},
	{
		Name: "KeyTimeout", Of: func(o *distlock.Opts) any { return &o.KeyTimeout }, flag: "lease",
		Usage: "`TIME` for which a crash blocks the key; renewed every third of it; at least 1s",
	},
	{
		Name: "RetryCount", Of: func(o *distlock.Opts) any { return &o.RetryCount },
		Usage: "give up after `N` attempts (default: no limit)",
	},
	{
		Name: "RetryInterval", Of: func(o *distlock.Opts) any { return &o.RetryInterval },
		Usage: "base of the `TIME` between attempts, if no message of the store ends the wait",
	},
	{
		Name: "MaxWait", Of: func(o *distlock.Opts) any { return &o.MaxWait }, flag: "wait",
		Usage: "give up after `TIME`; 0 is one attempt (default: no limit)",
	},
	{
		Name: "Mode", Of: func(o *distlock.Opts) any { return &o.Mode }, flag: "shared",
		Usage: "hold the key beside others that hold it shared",
	},
	{
		Name: "Permits", Of: func(o *distlock.Opts) any { return &o.Permits },
		Usage: "let `N` holders have the key at once; all should ask for the same number",
	},
	{
		Name: "MaxHold", Of: func(o *distlock.Opts) any { return &o.MaxHold },
		Usage: "the lock is lost after `TIME`, so that work that hangs does not keep it (default: no limit)",
	},
	{
		Name: "MinHold", Of: func(o *distlock.Opts) any { return &o.MinHold },
		Usage: "keep the key for `TIME` from the start, even if the command is quicker: once per period",
	},
	{Name: "Reentry", Of: func(o *distlock.Opts) any { return &o.Reentry }},
	{
		Name: "Fencing", Of: func(o *distlock.Opts) any { return &o.Fencing },
		Usage: "fail if the store has no fencing token",
	},
}

// All returns all fields, in the order of [distlock.Opts].
func All() []Field { return fields }

// Directive returns the name in a directive: keyTimeout.
func (f Field) Directive() string { return strings.ToLower(f.Name[:1]) + f.Name[1:] }

// Flag returns the name on the command line: retry-interval. It is empty if the field
// has no flag.
func (f Field) Flag() string {
	switch {
	case f.Usage == "":
		return ""
	case f.flag != "":
		return f.flag
	default:
		return separated(f.Name, "-")
	}
}

// Proto returns the name in a .proto file: key_timeout. It is empty if the message has
// no such field.
func (f Field) Proto() string {
	if f.proto == "-" {
		return ""
	}
	return separated(f.Name, "_")
}

// separated returns a Go name in lower case with a separator between its words.
func separated(name, separator string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteString(separator)
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// IsBool reports whether the option may have no value, which means true.
func (f Field) IsBool() bool {
	if f.Of == nil {
		return false
	}
	_, is := f.Of(new(distlock.Opts)).(*bool)
	return is
}

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
