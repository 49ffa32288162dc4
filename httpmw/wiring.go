package httpmw

import (
	"fmt"
	"log"
	"net/http"
	"strings"
)

// wiringError is a mistake of the server: the route of a request has no path value of
// that name, or no route was found yet. A client cannot avoid it, so it does not wrap
// [distlock.ErrKey] and is answered with 500.
type wiringError struct {
	what    string // path value "order"
	pattern string // "": no pattern
}

// Error names the pattern and the path value.
func (e *wiringError) Error() string {
	if e.pattern == "" {
		return "httpmw: no route has been found when the lock needs " + e.what +
			": the lock belongs to the route, not around the router"
	}
	return fmt.Sprintf("httpmw: the pattern %q has no %s", e.pattern, e.what)
}

// hasWildcard reports whether a pattern of ServeMux or chi has a wildcard with the
// given name: {name}, {name...}, {name:regexp}, or chi's * with the name "*".
func hasWildcard(pattern, name string) bool {
	if name == "*" {
		return strings.HasSuffix(pattern, "*")
	}
	for _, end := range []string{"}", "...}", ":"} {
		if strings.Contains(pattern, "{"+name+end) {
			return true
		}
	}
	return false
}

// tell logs the mistake for the operator of the server.
func tell(r *http.Request, err error) {
	logger := log.Default()
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ErrorLog != nil {
		logger = s.ErrorLog
	}
	logger.Print(err)
}
