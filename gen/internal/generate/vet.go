package generate

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// Vet returns the problems of a package's directives. If there are none, it returns the
// problems of the generated code, and the calls that go around a lock.
func Vet(pass *analysis.Pass) (directive.Problems, error) {
	g := &generator{
		Checker: directive.Checker{Fset: pass.Fset, Pkg: pass.Pkg, Info: pass.TypesInfo},
		rel:     func(file string) string { return file },
		old:     map[string]bool{},
	}
	made := map[string]*ast.File{}
	for _, f := range pass.Files {
		if len(f.Comments) > 0 && generated.MatchString(f.Comments[0].List[0].Text+"\n") {
			path := g.Fset.File(f.FileStart).Name()
			g.old[path], made[path] = true, f
		}
	}
	for _, f := range pass.Files {
		g.add(f)
	}
	if g.checkAll(); len(g.problems) > 0 {
		return g.problems, nil
	}
	locked := map[types.Object]*directive.Site{}
	for _, src := range g.sources {
		if err := g.checkMade(src); err != nil {
			return nil, err
		}
		for _, s := range src.sites {
			if s.Func != nil {
				locked[g.Info.Defs[s.Func.Name]] = s
			}
		}
	}
	for _, src := range g.sources {
		g.checkUses(src, locked)
	}
	for _, path := range g.stale() {
		g.problem(made[path].Package, "the comments of this generated code are gone: run distlockgen")
	}
	return g.problems, nil
}

// checkMade reports that the generated code for src is not what distlockgen would write.
func (g *generator) checkMade(src *source) error {
	if len(src.sites) == 0 {
		return nil
	}
	want, err := g.finish(src)
	if err != nil {
		return err
	}
	at := src.sites[0].Comment.Pos()
	switch have, err := os.ReadFile(target(src.path)); {
	case err != nil:
		g.problem(at, "the generated code is missing: run distlockgen")
	case !bytes.Equal(have, want):
		g.problem(at, "the generated code is not up to date: run distlockgen")
	}
	return nil
}

// checkUses reports where src uses a locked function around its lock, other than in the
// function itself, and allowances that allow nothing.
func (g *generator) checkUses(src *source, locked map[types.Object]*directive.Site) {
	line := func(pos token.Pos) int { return g.Fset.Position(pos).Line }
	allowances, used := map[int]*ast.Comment{}, map[*ast.Comment]bool{}
	for _, group := range src.file.Comments {
		for _, c := range group.List {
			if reason, found := strings.CutPrefix(c.Text, directive.Allow); found && strings.TrimSpace(reason) != "" {
				allowances[line(c.Pos())] = c
			} else if found {
				g.problem(c.Pos(), "say why: write "+directive.Allow+" and the reason")
			}
		}
	}
	ast.Inspect(src.file, func(n ast.Node) bool {
		id, _ := n.(*ast.Ident)
		if id == nil {
			return true
		}
		fn, _ := g.Info.Uses[id].(*types.Func)
		if fn == nil {
			return true
		}
		s := cmp.Or(locked[fn.Origin()], behind(fn, locked))
		if s == nil || s.Func.Pos() <= id.Pos() && id.Pos() < s.Func.End() {
			return true
		}
		if c := cmp.Or(allowances[line(id.Pos())], allowances[line(id.Pos())-1]); c != nil {
			used[c] = true
		} else {
			g.problem(id.Pos(), s.FullName()+" is used without its lock: use "+s.Generated()+
				", or say on this line why not, with "+directive.Allow+" and the reason")
		}
		return true
	})
	for _, c := range allowances {
		if !used[c] {
			g.problem(c.Pos(), "nothing on this line or the next uses a locked function without its lock: remove the comment")
		}
	}
}

// behind returns the site of a locked method that a call of fn may reach, if fn is a method of
// an interface: the first by its name.
func behind(fn *types.Func, locked map[types.Object]*directive.Site) (first *directive.Site) {
	if fn.Signature().Recv() == nil {
		return nil
	}
	face, _ := fn.Signature().Recv().Type().Underlying().(*types.Interface)
	if face == nil {
		return nil
	}
	for method, s := range locked {
		recv := method.(*types.Func).Signature().Recv() //nolint:forcetypeassert // all are functions
		if method.Name() != fn.Name() || recv == nil || first != nil && first.FullName() < s.FullName() {
			continue
		}
		t := recv.Type()
		if _, ok := t.(*types.Pointer); !ok {
			t = types.NewPointer(t) // has the other methods, too
		}
		if types.Implements(t, face) {
			first = s
		}
	}
	return first
}
