package backendurl

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
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

var errNoUser = errors.New("want user:password before the @")

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

// login returns user and password. Both are "" if the URL has none.
func (u *hostURL) login() (user, password string, err error) {
	if u.user == nil {
		return "", "", nil
	}
	if user = u.user.Username(); user == "" {
		return "", "", errNoUser
	}
	password, _ = u.user.Password()
	return user, password, nil
}

// loginBoth is login for a store that needs a password for each user.
func (u *hostURL) loginBoth() (user, password string, err error) {
	user, password, err = u.login()
	if user != "" && password == "" {
		err = errNoUser
	}
	return user, password, err
}

// database returns the path as the name of a database, "" if there is none.
func (u *hostURL) database() (string, error) {
	name := strings.TrimPrefix(u.path, "/")
	if strings.ContainsAny(name, "/\x00") {
		return "", errors.New("the name of the database has a slash or a zero byte")
	}
	return name, nil
}

// onlyParameters refuses parameters with other names.
func (u *hostURL) onlyParameters(names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(u.query)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unexpected parameter %q: want none but %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// parameter returns the value of a parameter, the last one if there are several, and
// whether the URL has it.
func (u *hostURL) parameter(name string) (value string, ok bool) {
	values, ok := u.query[name]
	if !ok {
		return "", false
	}
	return values[len(values)-1], true
}

// tlsParameter is a parameter of stores whose scheme does not say whether to use TLS.
const tlsParameter = "tls"

// tls returns the configuration that the parameter asks for, nil without it.
func (u *hostURL) tls() (*tls.Config, error) {
	switch value, ok := u.parameter(tlsParameter); {
	case !ok:
		return nil, nil //nolint:nilnil // it means no TLS to the clients, too
	case value == "true":
		return &tls.Config{}, nil
	case value == "skip-verify":
		return &tls.Config{InsecureSkipVerify: true}, nil
	default:
		return nil, fmt.Errorf("%s is %q: want true or skip-verify", tlsParameter, value)
	}
}
