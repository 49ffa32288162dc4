package directive

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Problem is an error at one position.
type Problem struct {
	Pos     token.Pos
	Message string
}

// Problems are all problems of a file or a package.
type Problems []Problem

func (p *Problems) add(pos token.Pos, format string, args ...any) {
	*p = append(*p, Problem{Pos: pos, Message: fmt.Sprintf(format, args...)})
}

// Sort returns the problems in the order of files, lines and columns, without
// duplicates.
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

// Text returns a line for each problem, file:line:col: message. The function rel
// turns the path of the file into the name that is printed.
func (p Problems) Text(fset *token.FileSet, rel func(file string) string) string {
	var lines []string
	for _, problem := range p.Sort(fset) {
		at := fset.Position(problem.Pos)
		at.Filename = rel(at.Filename)
		lines = append(lines, at.String()+": "+problem.Message)
	}
	return strings.Join(lines, "\n")
}
