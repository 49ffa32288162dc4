package backendurl

import "strings"

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
		return "xxxxx" + rawURL[at:]
	}
	return scheme + "://xxxxx" + rawURL[at:]
}
