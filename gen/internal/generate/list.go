package generate

import (
	"cmp"
	"go/types"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

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
