package prose

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// retired has metaphors that were used in names and comments, with the terms that have
// replaced them.
var retired = map[string]string{
	"lane": "batcher", "flight": "batch", "aloft": "in flight",
	"bury": "add a tombstone", "buried": "tombstones", "burial": "tombstone", "grave": "tombstone",
	"debt": "pending release", "bless": "bootstrap", "condemn": "mark for deletion", "acquit": "unmark",
	"ride": "share", "rider": "sharer", "alight": "detach", "occupy": "assign", "vacate": "transfer",
	"prolong": "extend", "prolonged": "extended", "prolonging": "extending", "prolonger": "extender",
}

var retiredWords = slices.Collect(maps.Keys(retired))

// part matches a word in a comment, and a part of a name such as inFlight.
var part = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// retiredIn returns the retired words in a line of code or comment. "In flight", which may
// be on two lines, is the term and not a metaphor.
func retiredIn(s string) (found []string) {
	if lower := strings.ToLower(s); !slices.ContainsFunc(retiredWords, func(w string) bool { return strings.Contains(lower, w) }) {
		return nil // which is quick
	}
	last := ""
	for _, word := range part.FindAllString(s, -1) {
		word = strings.ToLower(word)
		for _, word := range slices.Compact([]string{word, strings.TrimSuffix(word, "s")}) {
			if retired[word] != "" && (word != "flight" || last != "in" && last != "") {
				found = append(found, word)
			}
		}
		last = word
	}
	return found
}

func TestRetiredIn(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"an operation in flight":  "",
		"occupyAll(condemned)":    "occupy",
		"vacates, and not vacant": "vacate",
	} {
		if got := strings.Join(retiredIn(s), " "); got != want {
			t.Errorf("retiredIn(%q) = %q, want %q", s, got, want)
		}
	}
}

// Names and comments use the terms of the field.
func TestRetiredWords(t *testing.T) {
	t.Parallel()
	walk(t, *root, everyLine, func(_ string, lines []line) {
		for _, l := range lines {
			for _, word := range retiredIn(l.text) {
				t.Errorf("%v\n%q is retired: %s", l, word, retired[word])
			}
		}
	})
}
