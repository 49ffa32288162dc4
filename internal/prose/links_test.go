package prose

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	linked = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	code   = regexp.MustCompile("(?ms)^ *```.*?\n *```$|`[^`\n]*`")
	fences = regexp.MustCompile("(?ms)^ *```.*?\n *```$")
	// Of a link in a heading GitHub takes the text, and of a text in the form of code the
	// inside.
	heading     = regexp.MustCompile(`(?m)^#{1,6} (.+?) *$`)
	headingLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noAnchor    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	ownPackage  = regexp.MustCompile(`^https://pkg\.go\.dev/github\.com/distlock-go/distlock/?([^#@]*)(?:#(\w+))?`)
)

// anchors returns those of the headings of a page, as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		words := strings.ToLower(headingLink.ReplaceAllString(m[1], "$1"))
		anchor := strings.ReplaceAll(noAnchor.ReplaceAllString(words, ""), " ", "-")
		if unique := anchor; found[unique] {
			for n := 1; found[anchor]; n++ {
				anchor = unique + "-" + strconv.Itoa(n)
			}
		}
		found[anchor] = true
	}
	return found
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	found := anchors("# A `code` & [text](page.md)\n```sh\n# a comment\n```\n## 1. Same, again\n### Same\n### Same\n")
	for _, want := range []string{"a-code--text", "1-same-again", "same", "same-1"} {
		if !found[want] {
			t.Errorf("%q is not in %v", want, found)
		}
	}
	if len(found) != 4 {
		t.Errorf("%v has more than the headings", found)
	}
}

// Each link in a document leads to a file of the repository, and to a heading of it, or to
// a package of the repository and a name that it exports.
func TestLinks(t *testing.T) {
	t.Parallel()
	api, err := os.ReadFile(filepath.Join(*root, "api.txt"))
	if err != nil {
		t.Fatal(err)
	}
	count, of := 0, map[string]map[string]bool{} // anchors of each page
	walk(t, *root, documents, func(name string, lines []line) {
		for _, m := range linked.FindAllStringSubmatch(code.ReplaceAllString(lines[0].text, ""), -1) {
			count++
			if p := ownPackage.FindStringSubmatch(m[1]); p != nil {
				checkPackage(t, name, p[1], p[2], string(api))
				continue
			}
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(*root, target)); err != nil {
				t.Errorf("%s: the link %s: %v", name, m[1], err)
				continue
			}
			if anchor == "" || path.Ext(target) != ".md" {
				continue
			}
			if of[target] == nil {
				text, err := os.ReadFile(filepath.Join(*root, target))
				if err != nil {
					t.Fatal(err)
				}
				of[target] = anchors(string(text))
			}
			if !of[target][anchor] {
				t.Errorf("%s: the link %s: %s has no such heading", name, m[1], target)
			}
		}
	})
	if count == 0 {
		t.Error("there are no links")
	}
}

// checkPackage checks a link to a package of this repository, and to a name in it.
func checkPackage(t *testing.T, document, dir, name, api string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(*root, dir)); err != nil {
		t.Errorf("%s: a link to a package: %v", document, err)
	}
	pkg := path.Join("pkg github.com/distlock-go/distlock", dir)
	if name != "" && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(pkg)+`, .*\b`+name+`\b`).MatchString(api) {
		t.Errorf("%s: a link to %s in %s, which is not in api.txt", document, name, dir)
	}
}

// documents returns each document as one line.
func documents(name string) read {
	if path.Ext(name) != ".md" {
		return nil
	}
	return func(name string, src []byte) []line { return []line{{name, 1, string(src)}} }
}

// The index of the pages has each of them.
func TestIndex(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(*root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	index, err := os.ReadFile(filepath.Join(*root, "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}
