package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/distlock-go/distlock"

// checker knows the names in a repository.
type checker struct {
	root         string
	declared     map[string]bool // as x, Type.x, pkg.x and pkg.Type.x
	packages     map[string]bool // of the repository
	outside      map[string]bool // import paths of others
	outsideNames map[string]bool // the last parts of these
	files        map[string]bool // names without directories
	goals        []string        // of the Makefile
}

var luaName = regexp.MustCompile(`(?m)^\s*local (?:function )?(\w+)`)

func newChecker(t *testing.T, root string) *checker {
	t.Helper()
	c := &checker{
		root: root, files: map[string]bool{}, declared: map[string]bool{}, packages: map[string]bool{}, outside: map[string]bool{}, outsideNames: map[string]bool{},
	}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			c.files[d.Name()] = true
		}
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case path.Ext(name) == ".go":
			return c.addGo(name)
		case path.Ext(name) == ".lua", d.Name() == "Makefile":
			text, err := os.ReadFile(name)
			for _, m := range luaName.FindAllSubmatch(text, -1) {
				c.declared[string(m[1])] = true
			}
			if d.Name() == "Makefile" {
				for _, m := range goal.FindAllSubmatch(text, -1) {
					c.goals = append(c.goals, string(m[1]))
				}
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// addGo adds what a file of Go declares and imports.
func (c *checker) addGo(name string) error {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	pkg := strings.TrimSuffix(f.Name.Name, "_test")
	c.packages[pkg] = true
	for _, i := range f.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil && !strings.HasPrefix(p, module) {
			c.outside[p], c.outsideNames[path.Base(p)] = true, true
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				c.add(pkg, "", d.Name)
			} else {
				c.add(pkg, typeName(d.Recv.List[0].Type), d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					c.add(pkg, "", s.Names...)
				case *ast.TypeSpec:
					c.add(pkg, "", s.Name)
					c.addMembers(pkg, s)
				}
			}
		}
	}
	return nil
}

// addMembers adds the fields of a struct and the methods of an interface.
func (c *checker) addMembers(pkg string, s *ast.TypeSpec) {
	var members *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		members = t.Fields
	case *ast.InterfaceType:
		members = t.Methods
	default:
		return
	}
	for _, m := range members.List {
		c.add(pkg, s.Name.Name, m.Names...)
	}
}

func (c *checker) add(pkg, of string, names ...*ast.Ident) {
	for _, n := range names {
		c.declared[n.Name] = true
		if of != "" {
			c.declared[of+"."+n.Name], c.declared[pkg+"."+of+"."+n.Name] = true, true
		} else {
			c.declared[pkg+"."+n.Name] = true
		}
	}
}

// typeName returns the name in the type of a receiver.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
