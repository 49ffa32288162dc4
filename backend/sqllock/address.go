package sqllock

import (
	"net/url"
	"regexp"
	"strings"
)

var (
	mysqlAddress = regexp.MustCompile(`(?:^|@)(?:[a-z0-9]+)?\(([^()]*)\)/`)
	hostSetting  = regexp.MustCompile(`(?:^|\s)host\s*=\s*([^\s']+)`)
	portSetting  = regexp.MustCompile(`(?:^|\s)port\s*=\s*(\d+)`)
)

// addressOf returns the part of a data source name that says where the database is, and
// never a user or a password; "" if it does not know.
func addressOf(d Dialect, dsn string) string {
	switch d {
	case Postgres:
		if u, err := url.Parse(dsn); err == nil && u.Host != "" {
			return u.Host
		}
		host, port := hostSetting.FindStringSubmatch(dsn), portSetting.FindStringSubmatch(dsn)
		switch {
		case host == nil:
			return ""
		case port == nil:
			return host[1]
		}
		return host[1] + ":" + port[1]
	case MySQL:
		if m := mysqlAddress.FindStringSubmatch(dsn); m != nil {
			return m[1]
		}
		return ""
	default:
		file, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
		return file
	}
}
