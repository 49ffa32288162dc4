package generate

import (
	"cmp"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
)

// names manages the names in one generated file.
type names struct {
	taken   map[string]bool // in the package and in the sites
	local   map[string]bool // in the current function, for variable
	bound   map[string]bool // parameters and receivers, which hide imports
	imports []imported
}

type imported struct {
	name string // "": the last element of the path
	path string
}

// add imports a package.
func (n *names) add(name, from string) {
	if name == path.Base(from) {
		name = ""
	}
	if i := (imported{name, from}); !slices.Contains(n.imports, i) {
		n.imports = append(n.imports, i)
	}
}

// declared returns the name that the import declares.
func (i imported) declared() string { return cmp.Or(i.name, path.Base(i.path)) }

// importing returns a name for a package that the generated code itself needs.
func (n *names) importing(p string) string {
	for _, i := range n.imports {
		if i.path == p && i.name != "." && !n.bound[i.declared()] {
			return i.declared()
		}
	}
	name := n.fresh(path.Base(p))
	n.add(name, p)
	return name
}

// fresh returns a name that is not used in the package or the file.
func (n *names) fresh(name string) string { return unused(name, n.taken) }

// variable returns a name that is not used in this function.
func (n *names) variable(name string) string { return unused(name, n.local) }

func unused(name string, taken map[string]bool) string {
	free := name
	for i := 2; taken[free] || token.IsKeyword(free) || types.Universe.Lookup(free) != nil; i++ {
		free = name + strconv.Itoa(i)
	}
	taken[free] = true
	return free
}
