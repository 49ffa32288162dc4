package directive

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Problem is what is wrong at one place.
type Problem struct {
	Pos     token.Pos
	Message string
}

// Problems are all that were found.
type Problems []Problem

func (p *Problems) add(pos token.Pos, format string, args ...any) {
	*p = append(*p, Problem{pos, fmt.Sprintf(format, args...)})
}

// Sort puts the problems into the order of files, lines and columns, and leaves
// out what is said twice.
func (p Problems) Sort(fset *token.FileSet) Problems {
	p = slices.Clone(p)
	slices.SortStableFunc(p, func(a, b Problem) int {
		x, y := fset.Position(a.Pos), fset.Position(b.Pos)
		return cmp.Or(
			cmp.Compare(x.Filename, y.Filename), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(p)
}

// Text returns one line for each problem, file:line:col: message. The name of
// the file is what rel makes of it.
func (p Problems) Text(fset *token.FileSet, rel func(file string) string) string {
	var b strings.Builder
	for _, problem := range p.Sort(fset) {
		at := fset.Position(problem.Pos)
		at.Filename = rel(at.Filename)
		fmt.Fprintf(&b, "%s: %s\n", at, problem.Message)
	}
	return b.String()
}
