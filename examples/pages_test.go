package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const pages = "../docs/from"

// sections are the headings of each page, in this order. The first section has the code
// before and after.
var sections = []string{"Before and after", "What stands where", "Defaults", "Loss and outage", "Both at once", "What you lose"}

// sources are the directories with the code of the pages, by language, and the extension
// of its files.
var sources = map[string]struct{ dir, extension string }{
	"go":   {"from", ".go"},
	"java": {"../interop/java/src/main/java/from", ".java"},
}

// texts are the languages of blocks that nothing compiles: what a terminal shows, and code
// that is quoted from elsewhere, which the page has to say.
var texts = []string{"console", "text"}

// TestPages: all pages have the same sections, and each line of code in them is also in a
// file that is compiled.
func TestPages(t *testing.T) {
	t.Parallel()
	known := map[string]map[string]bool{}
	for _, page := range names(t) {
		text := read(t, filepath.Join(pages, page))
		var found []string
		for _, m := range headings.FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		if !slices.Equal(found, sections) {
			t.Errorf("%s has the sections %q, want %q", page, found, sections)
		}
		compiled := 0
		for _, block := range blocks.FindAllStringSubmatch(text, -1) {
			language := block[1]
			if slices.Contains(texts, language) {
				continue
			}
			if _, ok := sources[language]; !ok {
				t.Errorf("%s has a block of %q, which is neither compiled nor listed as text", page, language)
				continue
			}
			if known[language] == nil {
				known[language] = lines(t, language)
			}
			compiled++
			for line := range strings.Lines(block[2]) {
				if !known[language][code(line)] {
					t.Errorf("%s: not in %s: %s", page, sources[language].dir, line)
				}
			}
		}
		if compiled == 0 {
			t.Errorf("%s has no code that is compiled", page)
		}
		if n := strings.Count(text, "```"); n != 2*len(blocks.FindAllString(text, -1)) {
			t.Errorf("%s has %d fences, and a block of code that this test does not understand", page, n)
		}
	}
}

// TestAdapters: the page has each adapter, and the versions that are tested.
func TestAdapters(t *testing.T) {
	t.Parallel()
	page, mod := read(t, "../docs/adapters.md"), read(t, "go.mod")
	adapters, err := filepath.Glob("*lock")
	if err != nil || len(adapters) == 0 {
		t.Fatal(adapters, err)
	}
	for _, adapter := range adapters {
		if !strings.Contains(page, "(../examples/"+adapter+"/"+adapter+".go)") {
			t.Errorf("the page has no link to %s", adapter)
		}
	}
	versions := regexp.MustCompile(`\bv\d+\.\d+\.\d+\b`).FindAllString(page, -1)
	if len(versions) < len(adapters) {
		t.Errorf("the page has only the versions %q", versions)
	}
	for _, version := range versions {
		if !strings.Contains(mod, " "+version+"\n") {
			t.Errorf("go.mod does not require the version %s of the page", version)
		}
	}
}

// TestIndex: the index has a link to each page, and to no other file of its directory.
func TestIndex(t *testing.T) {
	t.Parallel()
	var linked []string
	for _, m := range links.FindAllStringSubmatch(read(t, filepath.Join(pages, "README.md")), -1) {
		linked = append(linked, m[1])
	}
	slices.Sort(linked)
	if want := names(t); !slices.Equal(linked, want) {
		t.Errorf("the index links to %q, want each of %q once", linked, want)
	}
}

var (
	headings = regexp.MustCompile(`(?m)^## (.*)$`)
	blocks   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)\n```$")
	links    = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
)

// names returns the names of the pages, without the index.
func names(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(pages, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		if name := filepath.Base(path); name != "README.md" {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		t.Fatalf("there are no pages in %s", pages)
	}
	return found
}

// lines returns the lines of all files of a language.
func lines(t *testing.T, language string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(sources[language].dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == sources[language].extension {
			for line := range strings.Lines(read(t, path)) {
				found[code(line)] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
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
