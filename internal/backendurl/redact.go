package backendurl

import (
	"errors"
	"regexp"
	"strings"
)

// errNotEncoded is the whole message for a URL in which the end of the password is
// uncertain.
var errNotEncoded = errors.New("not a URL; special characters in user and password must be percent-encoded")

// Name returns rawURL for reports, without the parts that may be secret: user, password
// and parameters.
func Name(rawURL string) string {
	name, _, _ := strings.Cut(redact(rawURL), "?")
	return strings.Replace(name, hidden+"@", "", 1)
}

// hidden replaces user and password.
const hidden = "xxxxx"

// secretParameter is a parameter that may be a password.
var secretParameter = regexp.MustCompile(`(?i)([?&][^=&]*pass[^=&]*=)[^&]*`)

// redact removes user and password from a URL, valid or not: everything up to the last
// @, so that no part of a password with reserved characters is left. The user is
// removed too, because passwords are often put there by mistake. The path of a SQLite
// database may have an @, and has no password before it.
func redact(rawURL string) string {
	rawURL = secretParameter.ReplaceAllString(rawURL, "${1}"+hidden)
	at := strings.LastIndexByte(rawURL, '@')
	path, isPath := cutPrefixFold(rawURL, sqlitePrefix)
	if at < 0 || isPath && !strings.HasPrefix(path, "//") {
		return rawURL
	}
	scheme, rest, isURL := strings.Cut(rawURL, "://")
	if !isURL || len(rest) < len(rawURL)-at {
		return hidden + rawURL[at:]
	}
	return scheme + "://" + hidden + rawURL[at:]
}
