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

// params are the query parameters of a request.
type params url.Values

func paramsOf(r *http.Request) (params, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query cannot be parsed")
	}
	return params(values), nil
}

// text returns a parameter; "" if it is missing.
func (p params) text(name string) (string, error) {
	values := p[name]
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", badRequest("%s is given %d times", name, len(values))
	case len(values[0]) > maxText:
		return "", badRequest("%s has %d bytes: at most %d", name, len(values[0]), maxText)
	case !utf8.ValidString(values[0]):
		return "", badRequest("%s is not valid UTF-8", name)
	}
	return values[0], nil
}

func badRequest(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// shownPrefix returns the prefix of those keys with the parameter prefix that the Handler
// shows.
func (h *Handler) shownPrefix(p params) (string, error) {
	prefix, err := p.text("prefix")
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
