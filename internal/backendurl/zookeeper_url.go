package backendurl

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
)

// zkPort is the default port.
const zkPort = "2181"

// zkTimeout is the only parameter of a ZooKeeper URL: how long the servers keep the
// locks of a process that was killed.
const zkTimeout = "session_timeout"

// parseZooKeeper parses a URL that [url.Parse] refuses because of its list of hosts.
// Like those of parseRedis, its errors never contain a password.
func parseZooKeeper(rawURL string) (servers []string, opts []zklock.Option, err error) {
	_, rest, _ := strings.Cut(rawURL, "://")
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
		return nil, nil, errNotEncoded
	}
	if hasUser {
		digest, err := parseUser(userinfo)
		if err != nil {
			return nil, nil, err
		}
		opts = append(opts, digest)
	}
	for host := range strings.SplitSeq(hosts, ",") {
		server, err := parseHost(host)
		if err != nil {
			return nil, nil, err
		}
		servers = append(servers, server)
	}
	more, err := parseTail(tail)
	return servers, append(opts, more...), err
}

func parseUser(userinfo string) (zklock.Option, error) {
	u, err := url.Parse("//" + userinfo + "@host")
	if err != nil || u.User == nil {
		return nil, errNotEncoded
	}
	name := u.User.Username()
	password, ok := u.User.Password()
	switch {
	case name == "" || !ok || password == "":
		return nil, errors.New("want user:password before the @")
	case strings.ContainsRune(name, ':'):
		return nil, errors.New("the user has a colon, which ZooKeeper does not allow")
	}
	return zklock.WithDigest(name, password), nil
}

// parseHost returns host with its port, or with the default port.
func parseHost(host string) (string, error) {
	if host == "" {
		return "", errors.New("a host is missing: want host:port,host:port")
	}
	u, err := url.Parse("//" + host)
	if err != nil {
		return "", errors.Unwrap(err) // the caller adds the URL
	}
	port := u.Port()
	switch {
	case u.Hostname() == "":
		return "", fmt.Errorf("%q has no host", host)
	case strings.ContainsAny(u.Hostname(), "[]"):
		return "", fmt.Errorf("invalid host %q", host)
	case strings.ContainsRune(u.Hostname(), ':') && host[0] != '[':
		return "", fmt.Errorf("too many colons in %q; an IPv6 address needs brackets", host)
	case port == "":
		port = zkPort
	}
	if err := checkPort(port); err != nil {
		return "", err
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// parseTail parses the part after the hosts: the chroot and the parameter.
func parseTail(tail string) (opts []zklock.Option, err error) {
	if strings.ContainsRune(tail, '#') {
		return nil, errors.New("unexpected #; percent-encode it if it belongs to the password")
	}
	path, query, _ := strings.Cut(tail, "?")
	chroot, err := url.PathUnescape(path)
	if err != nil {
		return nil, err
	}
	if chroot = strings.TrimSuffix(chroot, "/"); chroot != "" {
		opts = append(opts, zklock.WithRoot(chroot+zklock.DefaultRoot))
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	for name, value := range values {
		if name != zkTimeout {
			return nil, fmt.Errorf("unexpected parameter %q: there is only %s", name, zkTimeout)
		}
		d, err := time.ParseDuration(value[len(value)-1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", zkTimeout, err)
		}
		opts = append(opts, zklock.WithSessionTimeout(d))
	}
	return opts, nil
}
