package backendurl

import (
	"errors"
	"strings"
)

// errNotEncoded is all that is said about a URL of which it is not certain where
// the password ends.
var errNotEncoded = errors.New("not a URL; special characters in user and password must be percent-encoded")

// Name returns what a URL names, for the reader of a report: the URL without what
// may be secret, which are user, password and parameters.
func Name(rawURL string) string {
	name, _, _ := strings.Cut(redact(rawURL), "?")
	return strings.Replace(name, hidden+"@", "", 1)
}

// hidden stands for what was cut out.
const hidden = "xxxxx"

// redact cuts user and password out of a URL, valid or not: everything up to the
// last @, so that a password with reserved characters does not come through. The
// user goes too, because passwords are often put there by mistake.
func redact(rawURL string) string {
	at := strings.LastIndexByte(rawURL, '@')
	if at < 0 {
		return rawURL
	}
	scheme, rest, isURL := strings.Cut(rawURL, "://")
	if !isURL || len(rest) < len(rawURL)-at {
		return hidden + rawURL[at:]
	}
	return scheme + "://" + hidden + rawURL[at:]
}
