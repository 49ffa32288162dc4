package generate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/gen/internal/directive"
	"github.com/distlock-go/distlock/internal/optfield"
)

// options returns the Opts literal of a site: one line for each field that is set. Params is
// an argument of the call.
func (f *file) options(s *directive.Site) string {
	kit := f.importing(kitPath)
	var b strings.Builder
	b.WriteString(kit + ".Opts{\n")
	for _, field := range optfield.All() {
		if e := s.Lock.Exprs[field.Directive()]; e != nil {
			fmt.Fprintf(&b, "%s: %s,\n", field.Name, e.Text)
		}
		if field.Of == nil {
			continue
		}
		value := reflect.ValueOf(field.Of(&s.Lock.Opts)).Elem()
		if value.IsZero() {
			continue
		}
		text := fmt.Sprintf("%#v", value)
		switch v := value.Interface().(type) {
		case time.Duration:
			text = f.duration(v)
		case distlock.Mode:
			text = kit + ".Shared"
		case distlock.Reentry:
			text = kit + ".Reentry" + [...]string{"All", "One", "None"}[v]
		}
		fmt.Fprintf(&b, "%s: %s,\n", field.Name, text)
	}
	b.WriteString("}")
	return b.String()
}

// units are the units of durations, the largest first.
var units = []unit{
	{"Hour", time.Hour}, {"Minute", time.Minute}, {"Second", time.Second},
	{"Millisecond", time.Millisecond}, {"Microsecond", time.Microsecond}, {"Nanosecond", time.Nanosecond},
}

type unit struct {
	name string
	d    time.Duration
}

// duration returns d in the largest unit that divides it.
func (f *file) duration(d time.Duration) string {
	i := slices.IndexFunc(units, func(u unit) bool { return d%u.d == 0 })
	name := f.importing("time") + "." + units[i].name
	if d == units[i].d {
		return name
	}
	return fmt.Sprintf("%d * %s", d/units[i].d, name)
}
