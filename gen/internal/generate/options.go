package generate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/optfield"
)

// options returns the Opts literal of a site: one line for each field that is set.
func (f *file) options(s *site) string {
	kit := f.importing(kitPath)
	var b strings.Builder
	b.WriteString(kit + ".Opts{\n")
	for _, field := range optfield.All() {
		if value := f.value(s, field, kit); value != "" {
			fmt.Fprintf(&b, "%s: %s,\n", field.Name, value)
		}
	}
	b.WriteString("}")
	return b.String()
}

// value returns the Go expression for the value of a field, or "" if it is zero.
func (f *file) value(s *site, field optfield.Field, kit string) string {
	if field.Of == nil {
		switch {
		case field.Name == "Hasher" && s.Lock.Hasher != nil:
			return s.Lock.Hasher.Text
		case field.Name == "KeyFormat" && s.Lock.KeyFormat != nil:
			return s.Lock.KeyFormat.Text
		default:
			return "" // Params is an argument of the call
		}
	}
	switch p := field.Of(&s.Lock.Opts).(type) {
	case *string:
		if *p != "" {
			return strconv.Quote(*p)
		}
	case *bool:
		if *p {
			return "true"
		}
	case *int:
		if *p != 0 {
			return strconv.Itoa(*p)
		}
	case *time.Duration:
		if *p != 0 {
			return f.duration(*p)
		}
	case *distlock.Mode:
		if *p == distlock.Shared {
			return kit + ".Shared"
		}
	}
	return ""
}

// duration returns d in the largest unit that divides it.
func (f *file) duration(d time.Duration) string {
	pkg := f.importing("time")
	unit, name := time.Duration(1), "Nanosecond"
	for _, u := range []struct {
		value time.Duration
		name  string
	}{
		{time.Microsecond, "Microsecond"}, {time.Millisecond, "Millisecond"}, {time.Second, "Second"},
		{time.Minute, "Minute"}, {time.Hour, "Hour"},
	} {
		if d%u.value == 0 {
			unit, name = u.value, u.name
		}
	}
	if d == unit {
		return pkg + "." + name
	}
	return fmt.Sprintf("%d * %s.%s", d/unit, pkg, name)
}
