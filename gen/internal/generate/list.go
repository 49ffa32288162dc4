package generate

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/gen/internal/directive"
	"github.com/distlock-go/distlock/internal/optfield"
)

// columns are the fields of [distlock.Opts] that have a column of their own.
var columns = []string{"Prefix", "Value", "ParamLock", "KeyTimeout", "RetryCount", "MaxWait", "Mode", "Permits"}

// List writes a table of the locks that the packages declare, in comments or in .proto files, or
// returns all errors in their directives.
func List(w io.Writer, dir string, patterns []string) error {
	lines := [][]string{{"WHERE", "FUNCTION", "KEY", "PARAMETERS", "LEASE", "WAIT", "MODE", "OTHER"}}
	err := each(dir, patterns, func(g *generator) error {
		for _, src := range g.sources {
			for _, s := range src.sites {
				lines = append(lines, g.line(s))
			}
		}
		declared, err := g.protoLines()
		lines = append(lines, declared...)
		return cmp.Or(g.failure(), err)
	})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		_, _ = io.WriteString(table, strings.Join(line, "\t")+"\n") // Flush returns the error
	}
	return table.Flush()
}

// line returns the line of a site without problems.
func (g *generator) line(s *directive.Site) []string {
	var params, code []string
	if s.Sig != nil {
		params = parts(s, paramNames(s.Sig))
	}
	for _, option := range []string{"hasher", "keyFormat"} {
		if e := s.Lock.Exprs[option]; e != nil {
			code = append(code, option+":"+e.Text)
		}
	}
	return g.cells(g.Fset.Position(s.Name().Pos()), s.FullName(), s.Lock.Opts, params, code...)
}

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

// paramNames returns the names of the parameters, or the types of those without one.
func paramNames(sig *types.Signature) []string {
	var names []string
	for p := range sig.Params().Variables() {
		name := p.Name()
		if name == "" || name == "_" {
			name = types.TypeString(p.Type(), func(pkg *types.Package) string { return pkg.Name() })
		}
		names = append(names, name)
	}
	return names
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
