package prose

import (
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

// Each link in a page leads to a file of the repository, and to a heading of it, or to a
// package of the repository and a name that it declares.
func TestLinks(t *testing.T) {
	t.Parallel()
	texts, names := pages(t), declared(t)
	for page, text := range texts {
		for _, m := range linked.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if p := ownPackage.FindStringSubmatch(m[1]); p != nil {
				pkg := path.Base(path.Join("distlock", p[1]))
				if !exists(p[1]) || p[2] != "" && !names[pkg+"."+p[2]] {
					t.Errorf("%s: the link %s: there is no such name", page, m[1])
				}
				continue
			}
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
			}
			if !exists(target) {
				t.Errorf("%s: the link %s: there is no such file", page, m[1])
			} else if anchor != "" && path.Ext(target) == ".md" && !anchors(texts[target])[anchor] {
				t.Errorf("%s: the link %s: %s has no such heading", page, m[1], target)
			}
		}
	}
}

// exists reports whether there is such a file, or one that the pattern matches.
func exists(name string) bool {
	found, err := filepath.Glob(filepath.Join(root, name))
	return err == nil && len(found) > 0
}
