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

// isDirective reports whether a comment is a directive.
func isDirective(comment string) bool {
	rest, ok := strings.CutPrefix(comment, Marker)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], " \t\r"))
}

// resembles returns the beginning of a comment that looks like a directive but is none, or "".
// The compiler takes it for prose and reports nothing.
func resembles(comment string) string {
	body := strings.TrimLeft(comment[2:], " ") // a tab begins code in a comment
	word, rest, _ := strings.Cut(strings.TrimSuffix(body, "*/"), " ")
	word = strings.TrimSpace(strings.SplitN(word, "\t", 2)[0])
	near := strings.Contains(word, ":") && word[0] != '/' && distance(strings.ToLower(word), "distlock:lock") <= 2
	spaced := len(body) < len(comment)-2
	switch {
	case isDirective(comment):
		return ""
	case near, strings.HasPrefix(word, "distlock:") && !spaced:
		return strings.TrimSuffix(comment, body) + word
	case word == "distlock" && strings.HasPrefix(rest, "lock") && (!spaced || strings.HasPrefix(rest, "lock ") && strings.Contains(rest, ":")):
		return strings.TrimSuffix(comment, body) + "distlock lock"
	}
	return ""
}
