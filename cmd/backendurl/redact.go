package backendurl

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	hidden   = "xxxxx" // replaces user and password
	unshown  = "…"     // replaces what cannot be read
	minWidth = 4       // of a secret that is replaced in other texts, which has to differ from their words
)

// Name returns rawURL for reports, without the parts that may be secret: user, password
// and parameters.
func Name(rawURL string) string { return strings.Replace(redact(rawURL), hidden+"@", "", 1) }

// redact returns what may be shown of a value: of a URL its scheme, its hosts and its
// path. If the value cannot be read, any part of it may be a password, and redact returns
// the scheme alone, or not even that.
func redact(rawURL string) string {
	s, u, err := parse(rawURL)
	switch {
	case s.prefix == "":
		return unshown
	case err == nil && s.file:
		err = s.check(u)
	}
	if err != nil || s.port != "" && strings.ContainsAny(u.path, " =&;") {
		return s.prefix + unshown
	}
	shown, _, _ := strings.Cut(rawURL, "?")
	if i := strings.LastIndexByte(shown, '@'); i >= 0 && s.port != "" {
		return s.prefix + hidden + shown[i:]
	}
	return shown
}

// Hide returns text without what is secret in rawURL, which may be any text.
func Hide(text, rawURL string) string {
	if strings.Contains(rawURL, "://") || strings.ContainsAny(rawURL, "@=") { // not a word or a key, such as shop:pay:42
		quoted := strconv.Quote(rawURL)
		text = strings.NewReplacer(rawURL, redact(rawURL), quoted[1:len(quoted)-1], redact(rawURL)).Replace(text)
	}
	return hideSecrets(text, rawURL)
}

func hideSecrets(text, rawURL string) string {
	for _, secret := range secrets(rawURL) {
		if len(secret) >= minWidth {
			text = strings.ReplaceAll(text, secret, hidden)
		}
	}
	return text
}

// secrets returns the parts of a URL that a server or a client could quote, and that must
// not be shown: the password or else the user, and the values of parameters that this
// package does not know.
func secrets(rawURL string) []string {
	_, rest, _ := strings.Cut(rawURL, "://")
	rest, query, _ := strings.Cut(rest, "?")
	var all []string
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, password, ok := strings.Cut(rest[:i], ":")
		if !ok {
			password = user
		}
		all = append(all, password)
	}
	for parameter := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(parameter, "="); ok && !slices.Contains(shownParameters, name) {
			all = append(all, value)
		}
	}
	for _, secret := range slices.Clone(all) {
		if decoded, err := url.PathUnescape(secret); err == nil {
			all = append(all, decoded)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// shownParameters are parameters whose values are not secret.
var shownParameters = append([]string{
	tlsParameter, zkTimeout, recordParameter, clockParameter, endpointParameter, "db", "protocol", "max_retries", "pool_size", "min_idle_conns", "max_idle_conns",
	"dial_timeout", "read_timeout", "write_timeout", "pool_timeout", "conn_max_idle_time", "conn_max_lifetime",
}, postgresParameters...)

// refused is an error about rawURL, which it names without user and password.
func refused(rawURL string, err error) error {
	return &hiddenError{fmt.Sprintf("backend %q: %s", redact(rawURL), hideSecrets(err.Error(), rawURL)), err}
}
