package prose

import (
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are those that name files and code for contributors.
var pages = []string{"CONTRIBUTING.md", "docs/architecture.md", "docs/style.md", "docs/adr/*.md"}

var (
	drawing    = regexp.MustCompile("(?s)```text\n(.*?)\n```")
	drawn      = regexp.MustCompile(`[\w/]+\.[A-Za-z]+|[A-Za-z]*[a-z](?:_[a-z]|[A-Z])\w+`)
	span       = regexp.MustCompile("`([^`]+)`")
	identifier = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)
	fileName   = regexp.MustCompile(`^[\w.-]+\.(go|lua|md|mod|sum|txt|work|yml|yaml|proto)$`)
	upperCase  = regexp.MustCompile(`^[A-Z_0-9]+$`)
	testName   = regexp.MustCompile(`\b(Test|Fuzz|Benchmark|Example)[A-Z]\w*`)
	goal       = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
)

// What the pages for contributors have in backticks exists: files, directories, goals of
// the Makefile, and names in Go and Lua. Names of Go are those of declarations, such as
// Locker.acquire, driver.Queuer, release.go and ./backend/redislock. In commands, also in
// those of code blocks, the directories, the goals and the tests exist. In drawings, which
// are code blocks of text, it is so for words that are no words of English: with a dot, an
// underscore, or a capital letter inside.
func TestNamesInPages(t *testing.T) {
	t.Parallel()
	c := newChecker(t, *root)
	for _, pattern := range pages {
		names, err := filepath.Glob(filepath.Join(*root, pattern))
		if err != nil || len(names) == 0 {
			t.Errorf("%s: there is no such page", pattern)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range c.page(name, text) {
				t.Errorf("%s: %s", filepath.Base(name), problem)
			}
		}
	}
}

// page returns what is wrong with the names in a page.
func (c *checker) page(name string, text []byte) (problems []string) {
	var prose strings.Builder
	for _, l := range markdown(name, text) {
		prose.WriteString(l.text + " ")
	}
	for _, m := range span.FindAllStringSubmatch(prose.String(), -1) {
		if !c.known(m[1]) {
			problems = append(problems, "`"+m[1]+"` does not exist")
		}
	}
	for _, m := range drawing.FindAllStringSubmatch(string(text), -1) {
		for _, w := range drawn.FindAllString(m[1], -1) {
			if !c.known(w) && !c.files[path.Base(w)] {
				problems = append(problems, w+", in a drawing, does not exist")
			}
		}
	}
	for line := range strings.Lines(string(text)) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok && !c.command(command) {
			problems = append(problems, command+": a directory, a goal or a test in it does not exist")
		}
	}
	return problems
}

// known reports whether what is in backticks exists, as far as it names something.
func (c *checker) known(s string) bool {
	s, _, _ = strings.Cut(s, "(")
	s = strings.TrimLeft(s, "*&")
	switch {
	case strings.Contains(s, " "):
		return c.command(s)
	case c.path("cmd/" + s), c.path("gen/cmd/" + s):
		return true
	case testName.MatchString(s) && !strings.HasSuffix(s, ".go"):
		return c.command(s)
	case strings.ContainsAny(s, ":=<>{}\"$…") || strings.HasPrefix(s, "-") || upperCase.MatchString(s):
		return true
	case fileName.MatchString(s):
		return c.files[s] // in any directory
	case strings.Contains(s, "/"):
		return c.path(s)
	case identifier.MatchString(s):
		return c.name(s)
	}
	return true
}

// command reports whether the goals, directories and tests in a command exist.
func (c *checker) command(s string) bool {
	s, _, _ = strings.Cut(s, " #")
	words := strings.Fields(s)
	for i, w := range words {
		if dir := strings.Trim(w, "'"); strings.HasPrefix(dir, "./") && !c.path(strings.TrimSuffix(dir, "/...")) {
			return false
		}
		if i > 0 && words[0] == "make" && !strings.Contains(w, "=") && !slices.Contains(c.goals, w) {
			return false
		}
	}
	return !slices.ContainsFunc(testName.FindAllString(s, -1), func(test string) bool { return !c.declared[test] })
}

// path reports whether there is such a file or directory, or a package outside.
func (c *checker) path(s string) bool {
	if c.outside[s] {
		return true
	}
	found, err := filepath.Glob(filepath.Join(c.root, s))
	return err == nil && len(found) > 0
}

// name reports whether a name is declared, or is that of a package.
func (c *checker) name(s string) bool {
	first, _, qualified := strings.Cut(s, ".")
	if !qualified {
		return c.declared[s] || c.packages[s] || c.outsideNames[s] || types.Universe.Lookup(s) != nil || c.path(s)
	}
	return c.declared[s] || c.outsideNames[first] && !c.packages[first] || path.Ext(s) != "" && c.path(s)
}

func TestKnown(t *testing.T) {
	t.Parallel()
	c := newChecker(t, *root)
	for s, want := range map[string]bool{
		"Locker.acquire":                    true,
		"Locker.acquires":                   false,
		"driver.Queuer":                     true,
		"driver.Queuer.Acquire":             true,
		"driver.Queuers":                    false,
		"redislock.Backend.Acquire(ctx, r)": true,
		"*Lease":                            true,
		"grant_next":                        true, // in Lua
		"grant_last":                        false,
		"time.Sleep":                        true,
		"testing/synctest":                  true,
		"backend/redislock/lua/*.lua":       true,
		"backend/redislock/lua/queue.lua":   false,
		"acquire.go":                        true,
		"acquired.go":                       false,
		"make lint":                         true,
		"make lunch":                        false,
		"go test -run TestLayers .":         true,
		"go test -run TestLawyers .":        false,
		"go test ./internal/prose/...":      true,
		"go test ./internal/poetry":         false,
		"TestMutant/incr-tokens":            true,
		"{key}:queue":                       true, // names nothing that can be looked up
		"DISTLOCK_TEST_LONG=1":              true,
	} {
		if got := c.known(s); got != want {
			t.Errorf("known(%q) = %t, want %t", s, got, want)
		}
	}
}
