package generate

import (
	"cmp"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/optfield"
)

// columns are the fields of [distlock.Opts] that have a column of their own.
var columns = []string{"Prefix", "Value", "ParamLock", "KeyTimeout", "RetryCount", "MaxWait", "Mode", "Permits"}

// cells returns a line of the table. params take part in the key, and the values of the options
// in code are Go code.
func (g *generator) cells(at token.Position, function string, o distlock.Opts, params []string, code ...string) []string {
	mode := o.Mode.String()
	if o.Permits > 0 {
		mode = strconv.Itoa(o.Permits) + " permits"
	}
	return []string{
		g.at(at), function, o.Prefix + o.Value, cmp.Or(strings.Join(params, ", "), "-"), short(cmp.Or(o.KeyTimeout, distlock.DefaultKeyTimeout)),
		wait(o), mode, cmp.Or(strings.Join(append(others(o), code...), " "), "-"),
	}
}

// at returns the file and the line.
func (g *generator) at(p token.Position) string {
	return g.rel(p.Filename) + ":" + strconv.Itoa(p.Line)
}

// wait says what limits the wait.
func wait(o distlock.Opts) string {
	attempts := strconv.Itoa(o.RetryCount) + " attempts"
	switch {
	case o.RetryCount == 1:
		return "1 attempt"
	case o.RetryCount > 1 && o.MaxWait > 0:
		return attempts + ", " + short(o.MaxWait)
	case o.RetryCount > 1:
		return attempts
	case o.MaxWait > 0:
		return short(o.MaxWait)
	default:
		return "no limit"
	}
}

// others returns the options without a column, as in a directive.
func others(o distlock.Opts) []string {
	var all []string
	for _, f := range optfield.All() {
		if f.Of == nil || slices.Contains(columns, f.Name) {
			continue
		}
		switch v := reflect.ValueOf(f.Of(&o)).Elem(); {
		case v.IsZero():
		case f.IsBool():
			all = append(all, f.Directive())
		case v.Type() == reflect.TypeFor[time.Duration]():
			all = append(all, f.Directive()+":"+short(time.Duration(v.Int())))
		case f.Name == "Reentry":
			all = append(all, f.Directive()+":"+optfield.Reentries[v.Int()])
		default:
			all = append(all, fmt.Sprint(f.Directive(), ":", v))
		}
	}
	return all
}

// short returns d without zero minutes and seconds: 1m instead of 1m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
