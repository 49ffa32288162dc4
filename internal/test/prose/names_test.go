package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// named are the pages that name files and code for contributors.
var named = regexp.MustCompile(`^(docs/CONTRIBUTING|docs/architecture|docs/style|docs/adr/[^/]*)\.md$`)

var (
	span       = regexp.MustCompile("`([^`]+)`")
	identifier = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)
	fileName   = regexp.MustCompile(`^[\w.-]+\.(go|lua|md|mod|sum|txt|work|yml|yaml|proto)$`)
	upperCase  = regexp.MustCompile(`^[A-Z_0-9]+$`)
	testName   = regexp.MustCompile(`\b(Test|Fuzz|Benchmark|Example)[A-Z]\w*`)
	command    = regexp.MustCompile(`(?m)^ *\$ (.*)$`)
	goal       = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	luaName    = regexp.MustCompile(`(?m)^\s*local (?:function )?(\w+)`)
)

// What a command in a page names exists: its directories, the goals of the Makefile, its
// tests. In the pages for contributors this is so for what is in backticks, too: files, and
// names in Go and Lua, such as Locker.acquire, driver.Queuer and release.go.
func TestNames(t *testing.T) {
	t.Parallel()
	names := declared(t)
	for page, text := range pages(t) {
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			if !commandExists(m[1], names) {
				t.Errorf("%s: %s: a directory, a goal or a test in it does not exist", page, m[1])
			}
		}
		for _, m := range span.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			words := strings.Join(strings.Fields(m[1]), " ")
			if strings.Contains(words, " ") && !commandExists(words, names) || named.MatchString(page) && !known(words, names) {
				t.Errorf("%s: `%s` does not exist", page, words)
			}
		}
	}
}

// declared returns the names in the repository: of Go as x, Type.x, pkg.x and pkg.Type.x,
// with those of packages, also outside the repository, which end with a dot or are paths; of
// Lua; of files without their directories; and goals as "make x".
func declared(t *testing.T) map[string]bool {
	t.Helper()
	names, err := declaredOnce()
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var declaredOnce = sync.OnceValues(func() (map[string]bool, error) {
	names := map[string]bool{}
	return names, walk(func(name string) error {
		names[path.Base(name)] = true
		switch {
		case path.Ext(name) == ".go":
			return addGo(names, name)
		case path.Ext(name) == ".lua" || name == "Makefile":
			text, err := os.ReadFile(filepath.Join(root, name))
			for _, m := range luaName.FindAllStringSubmatch(string(text), -1) {
				names[m[1]] = true
			}
			for _, m := range goal.FindAllStringSubmatch(string(text), -1) {
				names["make "+m[1]] = true
			}
			return err
		}
		return nil
	})
})

// addGo adds what a file of Go declares and imports.
func addGo(names map[string]bool, name string) error {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	pkg := strings.TrimSuffix(file.Name.Name, "_test")
	names[pkg], names["package "+pkg] = true, true
	for _, i := range file.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil && !strings.HasPrefix(p, "github.com/distlock-go/") {
			names[p], names[path.Base(p)], names[path.Base(p)+"."] = true, true, true
		}
	}
	add := func(of string, ids ...*ast.Ident) {
		for _, id := range ids {
			names[id.Name], names[pkg+"."+of+id.Name], names[of+id.Name] = true, true, true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			of := ""
			if n.Recv != nil {
				of = strings.TrimLeft(types.ExprString(n.Recv.List[0].Type), "*")
				of, _, _ = strings.Cut(of, "[")
				of += "."
			}
			add(of, n.Name)
			return false
		case *ast.ValueSpec:
			add("", n.Names...)
		case *ast.TypeSpec:
			add("", n.Name)
			members := new(ast.FieldList)
			switch t := n.Type.(type) {
			case *ast.StructType:
				members = t.Fields
			case *ast.InterfaceType:
				members = t.Methods
			}
			for _, m := range members.List {
				add(n.Name.Name+".", m.Names...)
			}
		}
		return true
	})
	return nil
}

// commandExists reports whether the goals, directories and tests in a command exist.
func commandExists(s string, names map[string]bool) bool {
	s, _, _ = strings.Cut(s, " #")
	words := strings.Fields(s)
	for i, w := range words {
		if dir := strings.Trim(w, "'"); words[0] == "go" && strings.HasPrefix(dir, "./") && !exists(strings.TrimSuffix(dir, "/...")) {
			return false
		}
		if i > 0 && words[0] == "make" && !strings.ContainsAny(w, "=&\"") && !names["make "+w] {
			return false
		}
	}
	for _, test := range testName.FindAllString(s, -1) {
		if strings.Contains(s, "-run") && !slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(n string) bool { return strings.HasPrefix(n, test) }) {
			return false
		}
	}
	return true
}

// known reports whether what is in backticks exists, as far as it names something.
func known(s string, names map[string]bool) bool {
	s, _, _ = strings.Cut(s, "(")
	s = strings.TrimLeft(s, "*&")
	first, _, _ := strings.Cut(s, ".")
	switch {
	case strings.Contains(s, " "):
		return commandExists(s, names)
	case exists(s) || exists("cmd/"+s) || exists("gen/cmd/"+s) || names[s] || types.Universe.Lookup(s) != nil:
		return true
	case testName.MatchString(s) && !strings.HasSuffix(s, ".go"):
		return names[testName.FindString(s)]
	case strings.ContainsAny(s, ":=<>{}\"$…") || strings.HasPrefix(s, "-") || upperCase.MatchString(s):
		return true
	case fileName.MatchString(s) || strings.Contains(s, "/"):
		return false
	case identifier.MatchString(s):
		return names[first+"."] && !names["package "+first] // of a package outside
	}
	return true
}

// In the maps of docs/architecture.md a line names a file, and what the file declares.
func TestMapsNameTheFile(t *testing.T) {
	t.Parallel()
	lines := regexp.MustCompile(`(?m)^(\w+\.go) +(?:\w+\.)?(\w+)`).FindAllStringSubmatch(read(t, "docs/architecture.md"), -1)
	for _, m := range lines {
		if !regexp.MustCompile(`(?m)^(func (\(.*?\) )?|type )` + m[2] + `\b`).MatchString(read(t, m[1])) {
			t.Errorf("docs/architecture.md: %s is not in %s", m[2], m[1])
		}
	}
	if len(lines) < 20 {
		t.Errorf("%d lines of maps", len(lines))
	}
}
