package prose

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"testing"
)

// limit is how many lines of comment in a thousand may contain a word of dialect. It is
// not 0, because a comment can be about people, and a frame can have a length of which
// one says "whose length": net/http has 2.
const limit = 5

// root is the directory that the tests read. It can be that of other code, to compare.
var root = flag.String("root", "../..", "directory to read")

// dialect has the words that treat a request, a goroutine or a key as a person, and
// phrases that have gone out of use. In plain there are phrases that only look like them.
var (
	dialect = regexp.MustCompile(`(?i)\b(nobody|somebody|anybody|everybody|who|whom|whose|whoever|whomever|whosever|be it|for ever|has it not|(is|are|was|were) no \w+)\b`)
	plain   = regexp.MustCompile(`(?i)((there |^)(is|are|was|were) no\b|\b(is|are|was|were) no (longer|more|less|later|greater|better)\b)`)
)

func isDialect(s string) bool {
	return dialect.MatchString(s) && dialect.MatchString(plain.ReplaceAllString(s, ""))
}

func TestDialect(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"whoever comes first":             true,
		"a key whose lock is free":        true,
		"Nobody else is no owner":         true,
		"it waits for ever":               true,
		"there is no owner":               false,
		"is no owner":                     false, // "there" is on the line before
		"the lock is no longer held":      false,
		"the whole key, for every holder": false,
	} {
		if got := isDialect(s); got != want {
			t.Errorf("isDialect(%q) = %t, want %t", s, got, want)
		}
	}
}

// count is what was found in the comments of one directory, or in all documents.
type count struct {
	lines int
	found []line
}

func (c *count) add(lines []line) {
	for _, l := range lines {
		c.lines++
		if isDialect(l.text) {
			c.found = append(c.found, l)
		}
	}
}

func (c *count) String() string {
	return fmt.Sprintf("%4d of %5d lines, %4.1f %%", len(c.found), c.lines, 100*float64(len(c.found))/float64(max(c.lines, 1)))
}

// The comments are in plain English. With -v the test prints the count of each
// directory, the worst first, and each line that it found.
func TestComments(t *testing.T) {
	t.Parallel()
	var total, documents count
	dirs := map[string]*count{}
	walk(t, *root, prose, func(name string, lines []line) {
		if path.Ext(name) == ".md" {
			documents.add(lines)
			return
		}
		total.add(lines)
		dir := path.Dir(name)
		if dirs[dir] == nil {
			dirs[dir] = &count{}
		}
		dirs[dir].add(lines)
	})
	worstFirst := func(a, b string) int { return cmp.Compare(len(dirs[b].found), len(dirs[a].found)) }
	for _, dir := range slices.SortedStableFunc(maps.Keys(dirs), worstFirst) {
		if len(dirs[dir].found) > 0 {
			t.Logf("%v in %s", dirs[dir], dir)
		}
	}
	for _, l := range slices.Concat(total.found, documents.found) {
		t.Log(l)
	}
	t.Logf("%v in all comments", &total)
	t.Logf("%v in Markdown", &documents)
	if len(total.found)*1000 > total.lines*limit {
		t.Errorf("%v, want at most %.1f %%", &total, float64(limit)/10)
	}
}
