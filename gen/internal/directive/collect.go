package directive

import (
	"go/ast"
	"strings"
)

// Collect finds the directives of a file, which must be parsed with its comments. It
// reports misplaced, doubled and misspelt directives and the problems of their
// options. A site with problems is returned too.
func Collect(f *ast.File) ([]*Site, Problems) {
	c := collector{owned: map[*ast.Comment]bool{}}
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

type collector struct {
	sites    []*Site
	problems Problems
	owned    map[*ast.Comment]bool // directives above a function or method
}

// take reads the directive above a function or method. Without one, it reports Java's
// annotation.
func (c *collector) take(doc *ast.CommentGroup, site *Site) {
	if doc == nil {
		return
	}
	for _, comment := range doc.List {
		if !isDirective(comment.Text) {
			continue
		}
		c.owned[comment] = true
		if site.Lock != nil {
			c.problems.add(comment.Pos(), "a second directive on %s: one function has one lock", site.Name().Name)
			continue
		}
		lock, problems := Parse(comment.Text, comment.Pos())
		site.Lock = lock
		c.problems = append(c.problems, problems...)
		c.sites = append(c.sites, site)
	}
	for _, comment := range doc.List {
		if site.Lock == nil && strings.HasPrefix(strings.TrimLeft(comment.Text, "/ \t"), "@DistributedLock(") {
			c.problems.add(comment.Pos(), "Java's annotation has no effect here: write %s with its attributes as in prefix:shop: value:pay keyTimeout:10s", Marker)
		}
	}
}

// rest checks all other comments.
func (c *collector) rest(f *ast.File) {
	for _, group := range f.Comments {
		for _, comment := range group.List {
			if isDirective(comment.Text) && !c.owned[comment] {
				c.problems.add(comment.Pos(), "misplaced directive: it must stand directly above a function or a method of an interface")
			} else if word := resembles(comment.Text); word != "" {
				c.problems.add(comment.Pos(), "%s is a comment without effect: did you mean %s?", word, Marker)
			}
		}
	}
}
