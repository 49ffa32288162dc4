package directive

import (
	"regexp"
	"strings"
)

// nearest returns the closest of names, or "" if none is close or several are. At most one
// letter in three may be wrong, and at most two.
func nearest(name string, names []string) string {
	best, least := "", 3
	for _, n := range names {
		switch d := distance(strings.ToLower(name), strings.ToLower(n)); {
		case 3*d > len(n):
		case d < least:
			best, least = n, d
		case d == least:
			best = ""
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

// heading is a beginning that may be meant as one of a directive.
var heading = regexp.MustCompile(`^\pL+ ?: ?\pL+`)

// resembles returns the beginning of a comment that looks like a directive but is none, the
// beginning that it should have, and whether that is certain. Otherwise it returns "". The
// compiler takes such a comment for prose and reports nothing.
func resembles(comment string) (written, meant string, certain bool) {
	body := strings.TrimLeft(comment[2:], " ") // a tab begins code in a comment
	head := heading.FindString(body)
	before, spaced := strings.TrimSuffix(comment, body), len(body) < len(comment)-2
	meant, least := Marker, len(comment)
	for _, m := range []string{Marker, Defaults} {
		if d := distance(strings.ToLower(strings.ReplaceAll(head, " ", "")), m[2:]); d < least {
			meant, least = m, d
		}
	}
	rest, two := strings.CutPrefix(body, "distlock lock")
	switch {
	case marker(comment) != "":
	case head != "" && least <= 2:
		return before + head, meant, comment[1] == '/'
	case strings.HasPrefix(body, "distlock:") && !spaced:
		return before + strings.Fields(body)[0], meant, false
	case two && (!spaced || strings.HasPrefix(rest, " ") && strings.Contains(rest, ":")):
		return before + "distlock lock", Marker, false
	}
	return "", "", false
}
