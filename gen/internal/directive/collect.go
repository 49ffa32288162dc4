package directive

import (
	"go/ast"
	"regexp"
	"strings"
)

// Collect reads the directives of a file, which must be parsed with its comments. It reports
// wrong, misplaced, doubled and misspelt ones.
func Collect(f *ast.File) ([]*Site, Problems) {
	c := collector{above: map[*ast.Comment]bool{}}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			c.take(d.Doc, &Site{File: f, Func: d})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				t, _ := spec.(*ast.TypeSpec)
				if t == nil {
					continue
				}
				if i, ok := t.Type.(*ast.InterfaceType); ok {
					for _, m := range i.Methods.List {
						if _, ok := m.Type.(*ast.FuncType); ok {
							c.take(m.Doc, &Site{File: f, Interface: t, Method: m})
						}
					}
				}
			}
		}
	}
	c.rest(f)
	return c.sites, c.problems
}

// resembling finds comments that are hardly meant as prose. The compiler reports nothing.
var resembling = regexp.MustCompile(`(?i)^(?://distlock:|// distlock lock \S*:|/[/*] ?dist?lo?c?k ?: ?lo?c?k\b)`)

type collector struct {
	sites    []*Site
	problems Problems
	above    map[*ast.Comment]bool // the comments above functions and methods
}

// take takes the directive above a function or method. Without one, it reports Java's
// annotation.
func (c *collector) take(doc *ast.CommentGroup, site *Site) {
	if doc == nil {
		return
	}
	for _, comment := range doc.List {
		c.above[comment] = true
		switch {
		case marker(comment.Text) != Marker:
		case site.Comment != nil:
			c.problems.add(comment.Pos(), "a second directive on %s: one function has one lock", site.Name().Name)
		default:
			var problems Problems
			site.Comment = comment
			site.Lock, problems = Parse(comment.Text, comment.Pos())
			c.sites, c.problems = append(c.sites, site), append(c.problems, problems...)
		}
	}
	for _, comment := range doc.List {
		if site.Comment == nil && strings.HasPrefix(strings.TrimLeft(comment.Text, "/* \t"), "@DistributedLock(") {
			c.problems.add(comment.Pos(), "Java's annotation has no effect here: write %s value:…", Marker)
		}
	}
}

// rest checks all other comments.
func (c *collector) rest(f *ast.File) {
	for _, group := range f.Comments {
		for _, comment := range group.List {
			switch m := marker(comment.Text); {
			case m == Marker && !c.above[comment]:
				c.problems.add(comment.Pos(), "misplaced directive: it must stand directly above a function or a method of an interface")
			case m == "" && resembling.MatchString(comment.Text):
				c.problems.add(comment.Pos(), "a comment without effect: did you mean %s?", Marker)
			}
		}
	}
}
