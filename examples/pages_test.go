package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sources are the directories with the code of the pages, and the extension of their
// files.
var sources = map[string]string{"from": ".go", "annotation": ".go", "../lab/interop/java/src/main/java/from": ".java"}

var blocks = regexp.MustCompile("(?ms)^ *```(\\w+)\n(.*?)\n *```$")

// TestMigrating: the pages about moving to distlock have a diff for each example, and
// the article's own method. Each line of code in them is also in a file that is
// compiled. A block of text is code that nothing compiles, which the page has to say,
// or a drawing.
func TestMigrating(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Glob("from/*")
	if diffs := compiled(t, "../docs/from-distributedlock.md") + compiled(t, "../docs/migrating.md"); err != nil || diffs != len(examples)+1 {
		t.Errorf("%d diffs for the article's method and the examples %q, %v", diffs, examples, err)
	}
}

// compiled checks the code of a page, and returns how many diffs it has.
func compiled(t *testing.T, page string) (diffs int) {
	t.Helper()
	text, known := read(t, page), lines(t)
	for _, block := range blocks.FindAllStringSubmatch(text, -1) {
		switch block[1] {
		case "text", "console":
			continue
		case "diff":
			diffs++
		case "go":
		default:
			t.Errorf("%s: a block of %q is neither compiled nor text", page, block[1])
		}
		for line := range strings.Lines(block[2]) {
			if block[1] == "diff" {
				line = strings.TrimLeft(line, "+-")
			}
			if !known[code(line)] {
				t.Errorf("%s: in no example: %s", page, line)
			}
		}
	}
	return diffs
}

// TestAdapters: the page has each adapter.
func TestAdapters(t *testing.T) {
	t.Parallel()
	page := read(t, "../docs/adapters.md")
	adapters, err := filepath.Glob("*lock")
	if err != nil || len(adapters) == 0 {
		t.Fatal(adapters, err)
	}
	for _, adapter := range adapters {
		if !strings.Contains(page, "(../examples/"+adapter+"/"+adapter+".go)") {
			t.Errorf("the page has no link to %s", adapter)
		}
	}
}

// lines returns the lines of all sources.
func lines(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for dir, extension := range sources {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == extension {
				for line := range strings.Lines(read(t, path)) {
					found[code(line)] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// code returns a line without its comment.
func code(line string) string {
	line, _, _ = strings.Cut(line, "// ")
	return strings.TrimSpace(line)
}
