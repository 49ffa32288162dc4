package lockui

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// maxText is how long a prefix or a name may be, in bytes. Keys are shorter.
const maxText = 1024

// textOf returns a query parameter of the request; "" if it is missing.
func textOf(r *http.Request, name string) (string, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	switch values := query[name]; {
	case err != nil:
		return "", badRequest("the query cannot be parsed")
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", badRequest("%s is given %d times", name, len(values))
	case len(values[0]) > maxText:
		return "", badRequest("%s has %d bytes: at most %d", name, len(values[0]), maxText)
	case !utf8.ValidString(values[0]):
		return "", badRequest("%s is not valid UTF-8", name)
	default:
		return values[0], nil
	}
}

func badRequest(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// prefixOf returns the prefix of those keys with the parameter prefix that the Handler
// shows.
func (h *Handler) prefixOf(r *http.Request) (string, error) {
	prefix, err := textOf(r, "prefix")
	switch {
	case err != nil:
		return "", err
	case strings.HasPrefix(h.prefix, prefix):
		return h.prefix, nil
	default:
		return prefix, h.checkKey(prefix)
	}
}

// checkKey returns an error if the key, or all keys with this prefix, are outside of the
// prefix of the Handler.
func (h *Handler) checkKey(key string) error {
	if !strings.HasPrefix(key, h.prefix) {
		return &problem{http.StatusForbidden, "keys with this prefix are not shown here"}
	}
	return nil
}
