package directive

import (
	"go/ast"
	"strings"
)

// Site is a function or a method of an interface with its directive.
type Site struct {
	Lock *Lock
	File *ast.File
	Func *ast.FuncDecl // nil if it is a method of an interface

	Interface *ast.TypeSpec
	Method    *ast.Field
}

// Name returns the name of the function or method.
func (s *Site) Name() *ast.Ident {
	if s.Func != nil {
		return s.Func.Name
	}
	return s.Method.Names[0]
}

// Type returns the type of the function or method.
func (s *Site) Type() *ast.FuncType {
	if s.Func != nil {
		return s.Func.Type
	}
	return s.Method.Type.(*ast.FuncType) // Collect takes no others
}

// Collect finds the directives of a file, which must be parsed with its comments. It
// reports misplaced, doubled and misspelt directives and the problems of their
// options. A site with problems is returned too.
func Collect(f *ast.File) ([]*Site, Problems) {
	c := collector{file: f, owned: map[*ast.Comment]bool{}}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			c.take(d.Doc, &Site{File: f, Func: d})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					c.methods(t)
				}
			}
		}
	}
	c.rest()
	return c.sites, c.problems
}

type collector struct {
	file     *ast.File
	sites    []*Site
	problems Problems
	owned    map[*ast.Comment]bool // directives above a function or method
}

func (c *collector) methods(t *ast.TypeSpec) {
	i, ok := t.Type.(*ast.InterfaceType)
	if !ok {
		return
	}
	for _, m := range i.Methods.List {
		if _, ok := m.Type.(*ast.FuncType); ok && len(m.Names) == 1 {
			c.take(m.Doc, &Site{File: c.file, Interface: t, Method: m})
		}
	}
}

// take reads the directive above a function or method.
func (c *collector) take(doc *ast.CommentGroup, site *Site) {
	if doc == nil {
		return
	}
	for _, comment := range doc.List {
		if !isDirective(comment) {
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
	if site.Lock == nil {
		c.annotation(doc)
	}
}

// annotation reports Java's annotation above a function without a directive.
func (c *collector) annotation(doc *ast.CommentGroup) {
	for _, comment := range doc.List {
		if text := strings.TrimLeft(comment.Text, "/ \t"); strings.HasPrefix(text, "@DistributedLock(") {
			c.problems.add(comment.Pos(), "Java's annotation has no effect here: write %s with its attributes as in prefix:shop: value:pay keyTimeout:10s", Marker)
		}
	}
}

func isDirective(c *ast.Comment) bool {
	k, _ := classify(c.Text)
	return k == genuine
}

// rest checks all other comments.
func (c *collector) rest() {
	for _, group := range c.file.Comments {
		for _, comment := range group.List {
			switch k, fault := classify(comment.Text); {
			case c.owned[comment]:
			case k == wrong:
				c.problems.add(comment.Pos(), "%s", fault)
			case k == genuine:
				c.problems.add(comment.Pos(), "misplaced directive: it must stand directly above a function or a method of an interface")
			}
		}
	}
}
