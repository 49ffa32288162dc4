package generate

import (
	"cmp"
	"fmt"
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

// row is a line of the table of locks.
type row struct {
	where, function string
	opts            distlock.Opts
	params          []string // that take part in the key
	code            []string // options whose values are Go code
}

// columns are the fields of [distlock.Opts] that have a column of their own.
var columns = []string{"Prefix", "Value", "ParamLock", "KeyTimeout", "RetryCount", "MaxWait", "Mode", "Permits"}

// List writes a table of the locks that the packages declare, in comments or in .proto files, or
// returns all errors in their directives.
func List(w io.Writer, dir string, patterns []string) error {
	var rows []row
	err := each(dir, patterns, func(g *generator) error {
		for _, src := range g.sources {
			for _, s := range src.sites {
				rows = append(rows, g.row(s))
			}
		}
		declared, err := g.protoRows()
		rows = append(rows, declared...)
		if failure := g.failure(); failure != nil {
			return failure
		}
		return err
	})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{{"WHERE", "FUNCTION", "KEY", "PARAMETERS", "LEASE", "WAIT", "MODE", "OTHER"}}, cells(rows)...) {
		for i := range line {
			line[i] = cmp.Or(line[i], "-")
		}
		_, _ = io.WriteString(table, strings.Join(line, "\t")+"\n") // Flush returns the error
	}
	return table.Flush()
}

// row returns the line of a site without problems.
func (g *generator) row(s *directive.Site) row {
	at := g.Fset.Position(s.Name().Pos())
	r := row{where: g.rel(at.Filename) + ":" + strconv.Itoa(at.Line), function: s.FullName(), opts: s.Lock.Opts}
	if s.Sig != nil {
		r.params = parts(s, paramNames(s.Sig))
	}
	for _, option := range []string{"hasher", "keyFormat"} {
		if e := s.Lock.Exprs[option]; e != nil {
			r.code = append(r.code, option+":"+e.Text)
		}
	}
	return r
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

func cells(rows []row) [][]string {
	var lines [][]string
	for _, r := range rows {
		o, mode := r.opts, r.opts.Mode.String()
		if o.Permits > 0 {
			mode = strconv.Itoa(o.Permits) + " permits"
		}
		lease := o.KeyTimeout
		if lease == 0 {
			lease = distlock.DefaultKeyTimeout
		}
		lines = append(lines, []string{
			r.where, r.function, o.Prefix + o.Value, strings.Join(r.params, ", "), short(lease), wait(o), mode, strings.Join(append(others(o), r.code...), " "),
		})
	}
	return lines
}

// wait says what limits the wait.
func wait(o distlock.Opts) string {
	var limits []string
	switch {
	case o.RetryCount == 1:
		return "1 attempt"
	case o.RetryCount > 1:
		limits = append(limits, strconv.Itoa(o.RetryCount)+" attempts")
	}
	if o.MaxWait > 0 {
		limits = append(limits, short(o.MaxWait))
	}
	if limits == nil {
		return "no limit"
	}
	return strings.Join(limits, ", ")
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
