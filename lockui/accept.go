package lockui

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// prefers reports whether the client prefers one type to the other, for example
// application/json to text/html.
func prefers(r *http.Request, typ, other string) bool {
	return quality(r, typ) > quality(r, other)
}

// quality returns the value that the header Accept gives to a type: that of the most
// specific range with it.
func quality(r *http.Request, typ string) float64 {
	const exact = 2
	major, _, _ := strings.Cut(typ, "/")
	ranges := map[string]int{"*/*": 0, major + "/*": 1, typ: exact}
	best, value := -1, 0.0
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		specific, ok := ranges[name]
		if !ok || specific <= best {
			continue
		}
		q, err := strconv.ParseFloat(params["q"], 64)
		if err != nil {
			q = 1
		}
		best, value = specific, q
	}
	return value
}
