package directive

import "strings"

// nearest returns the closest of names to name, or "" if none is close.
func nearest(name string, names []string) string {
	best, least := "", 3
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least && d < len(n) {
			best, least = n, d
		}
	}
	return best
}

// distance returns the number of letters to insert, delete, replace or swap with
// their neighbour to turn a into b.
func distance(a, b string) int {
	before, last, now := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		now[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			now[j+1] = min(last[j]+cost, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, make([]int, len(b)+1)
	}
	return last[len(b)]
}

// kind is the kind of a comment.
type kind int

const (
	prose kind = iota
	genuine
	wrong // looks like a directive but does nothing
)

// classify returns the kind of a comment and, if it is wrong, what to change. The
// compiler takes a wrong directive for prose and reports nothing.
func classify(comment string) (kind, string) {
	body, line := strings.CutPrefix(comment, "//")
	if !line {
		body = strings.TrimSuffix(strings.TrimPrefix(comment, "/*"), "*/")
	}
	trimmed := strings.TrimLeft(body, " ") // a tab begins code in a comment
	word, rest, _ := strings.Cut(strings.ReplaceAll(trimmed, "\t", " "), " ")
	word = strings.TrimSpace(word)
	near := strings.Contains(word, ":") && word[0] != '/' && distance(strings.ToLower(word), "distlock:lock") <= 2
	switch {
	case !line && word == "distlock:lock":
		return wrong, "a directive is a // comment, not a /* */ one: it does nothing here"
	case !line:
		return prose, ""
	case trimmed != body && (near || word == "distlock" && strings.HasPrefix(rest, "lock ") && strings.Contains(rest, ":")):
		return wrong, "a space between // and " + word + " makes the directive a plain comment: write " + Marker
	case trimmed != body:
		return prose, ""
	case word == "distlock:lock":
		return genuine, ""
	case strings.HasPrefix(word, "distlock:lock:"):
		return wrong, "a space must follow " + Marker
	case strings.HasPrefix(word, "distlock:"):
		return wrong, "unknown directive //" + word + ": did you mean " + Marker + "?"
	case near, word == "distlock" && strings.HasPrefix(rest, "lock"):
		return wrong, "misspelt directive //" + word + ": did you mean " + Marker + "?"
	default:
		return prose, ""
	}
}
