package prose

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "say that the Chinese pages are up to date with the English ones")

// chinese returns the Chinese page of an English one.
func chinese(page string) string { return strings.TrimSuffix(page, ".md") + ".zh-CN.md" }

var mark = regexp.MustCompile(`\n<!-- \S+ ([0-9a-f]+) -->\n$`)

// A Chinese page ends with a mark: the English page that it was made from, as git names its
// content. The two link to each other, and the Chinese one is not longer.
func TestChinesePages(t *testing.T) {
	t.Parallel()
	texts, found := pages(t), 0
	for page, english := range texts {
		zh := chinese(page)
		text, ok := texts[zh]
		if !ok {
			continue
		}
		found++
		old, madeFrom := "", os.DevNull
		if m := mark.FindStringSubmatch(text); m != nil {
			old, madeFrom = m[0], m[1]
		}
		switch now := "\n<!-- " + path.Base(page) + " " + git(t, "", "hash-object", page)[0][:12] + " -->\n"; {
		case now == old:
		case *update:
			if err := os.WriteFile(filepath.Join(root, zh), []byte(strings.TrimRight(strings.TrimSuffix(text, old), "\n")+"\n"+now), 0o600); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%[1]s has changed: git diff %[2]s %[1]s shows what. Mend %[3]s, then run go test ./internal/test/prose -run TestChinesePages -update",
				page, madeFrom, zh)
		}
		if !strings.Contains(english, "]("+path.Base(zh)+")") || !strings.Contains(text, "[English]("+path.Base(page)+")") {
			t.Errorf("%s and %s do not link to each other", page, zh)
		}
		if utf8.RuneCountInString(text) > utf8.RuneCountInString(english) {
			t.Errorf("%s is longer than %s", zh, page)
		}
		for _, other := range []string{"README.md", "docs/options.md"} {
			english += texts[other]
		}
		sameCode(t, zh, text, english)
	}
	if found < 3 {
		t.Errorf("%d Chinese pages", found)
	}
}

// sameCode checks that each block of code and each name of a Chinese page is in the English one,
// or on the first pages.
func sameCode(t *testing.T, zh, text, english string) {
	t.Helper()
	known := map[string]bool{}
	for _, block := range fences.FindAllString(english, -1) {
		known[bare(block)] = true
	}
	for _, block := range fences.FindAllString(text, -1) {
		if !known[bare(block)] {
			t.Errorf("%s: not in the English page: %s", zh, block)
		}
	}
	for _, m := range span.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		if !strings.Contains(english, m[1]) {
			t.Errorf("%s: not in the English page: `%s`", zh, m[1])
		}
	}
}

// bare returns a block of code without its comments.
func bare(block string) string {
	var lines []string
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, " # ")
		if line = plain(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
