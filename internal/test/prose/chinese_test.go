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

var mark = regexp.MustCompile(`\n<!-- (\S+\.md) ([0-9a-f]{12}) -->\n$`)

// A Chinese page ends with a mark: the English page that it was made from, as git names its
// content. It links to that page, is not longer, and has no code and no name that is not
// there.
func TestChinesePages(t *testing.T) {
	t.Parallel()
	texts, found := pages(t), 0
	for page, text := range texts {
		english, ok := texts[page]
		zh := chinese(page)
		if text, ok = texts[zh]; !ok {
			continue
		}
		found++
		content := git(t, "", "hash-object", page)[0][:12]
		want := "\n<!-- " + path.Base(page) + " " + content + " -->\n"
		m := mark.FindStringSubmatch(text)
		switch {
		case m == nil:
			t.Errorf("%s should end with%s", zh, want)
		case m[0] == want:
		case *update:
			if err := os.WriteFile(filepath.Join(root, zh), []byte(strings.TrimSuffix(text, m[0])+want), 0o600); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%[1]s has changed: git diff %[2]s %[1]s shows what. Mend %[3]s, then run go test ./internal/test/prose -run TestChinesePages -update",
				page, m[2], zh)
		}
		if !strings.Contains(english, "]("+path.Base(zh)+")") || !strings.Contains(text, "[English]("+path.Base(page)+")") {
			t.Errorf("%s and %s do not link to each other", page, zh)
		}
		if utf8.RuneCountInString(text) > utf8.RuneCountInString(english) {
			t.Errorf("%s is longer than %s", zh, page)
		}
		known := map[string]bool{}
		for line := range strings.Lines(english) {
			known[bare(line)] = true
		}
		for _, block := range fences.FindAllString(text, -1) {
			for line := range strings.Lines(block) {
				if !known[bare(line)] {
					t.Errorf("%s: not in %s: %s", zh, page, line)
				}
			}
		}
		for _, m := range span.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			if !strings.Contains(english, m[1]) {
				t.Errorf("%s: not in %s: `%s`", zh, page, m[1])
			}
		}
	}
	if found < 3 {
		t.Errorf("%d Chinese pages", found)
	}
}

// bare returns a line of code without its comment.
func bare(line string) string {
	line, _, _ = strings.Cut(line, " # ")
	return plain(line)
}
