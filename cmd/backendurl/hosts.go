package backendurl

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// hostURL is a URL that may have a list of hosts, which [url.Parse] refuses.
type hostURL struct {
	scheme  string
	user    *url.Userinfo // nil if there is none
	servers []string      // each with its port
	path    string        // with the slash before it
	query   url.Values
	tls     *tls.Config // that the parameter asks for
}

// String returns the URL for another parser, with all ports and correct encoding.
func (u *hostURL) String() string {
	again := url.URL{Scheme: u.scheme, User: u.user, Host: strings.Join(u.servers, ","), Path: u.path, RawQuery: u.query.Encode()}
	return again.String()
}

// parseHosts parses what follows the scheme. A host without a port gets the default port.
// Errors never contain a password.
func parseHosts(rest, port string) (*hostURL, error) {
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	userinfo, hosts, hasUser := strings.Cut(authority, "@")
	if !hasUser {
		hosts = authority
	}
	// Errors quote the part after the user, so it must be certain where that begins.
	if strings.ContainsRune(hosts+tail, '@') {
		return nil, errNotEncoded
	}
	u := new(hostURL)
	if hasUser {
		user, err := url.Parse("//" + userinfo + "@host")
		if err != nil || user.User == nil {
			return nil, errNotEncoded
		}
		u.user = user.User
	}
	for host := range strings.SplitSeq(hosts, ",") {
		server, err := parseHost(host, port)
		if err != nil {
			return nil, err
		}
		u.servers = append(u.servers, server)
	}
	err := u.parseTail(tail)
	return u, err
}

// parseHost returns host with its port, or with the default port.
func parseHost(host, defaultPort string) (string, error) {
	if host == "" {
		return "", errors.New("a host is missing: want host:port")
	}
	u, err := url.Parse("//" + host)
	if err != nil {
		return "", unquoted(err)
	}
	port := u.Port()
	switch {
	case u.Hostname() == "":
		return "", errors.New("a host is missing before its port")
	case strings.ContainsAny(u.Hostname(), "[]"):
		return "", errors.New("invalid host")
	case strings.ContainsRune(u.Hostname(), ':') && host[0] != '[':
		return "", errors.New("too many colons in a host; an IPv6 address needs brackets")
	case port == "":
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("invalid port: want a number from 1 to 65535")
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// parseTail parses the part after the hosts: the path and the parameters.
func (u *hostURL) parseTail(tail string) (err error) {
	if strings.ContainsRune(tail, '#') {
		return errors.New("unexpected #; percent-encode it if it belongs to the password")
	}
	path, query, _ := strings.Cut(tail, "?")
	if u.path, err = url.PathUnescape(path); err == nil {
		u.query, err = url.ParseQuery(query)
	}
	if err != nil {
		return unquoted(err)
	}
	return nil
}

// password returns the password, "" if there is none.
func (u *hostURL) password() string {
	password, _ := u.user.Password()
	return password
}

// name returns the path without the slash before it.
func (u *hostURL) name() string { return strings.TrimPrefix(u.path, "/") }

// parameter returns the value of a parameter, the last one if there are several, and
// whether the URL has it.
func (u *hostURL) parameter(name string) (value string, ok bool) {
	values, ok := u.query[name]
	if !ok {
		return "", false
	}
	return values[len(values)-1], true
}
