package backendurl

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
)

// zkPort is the default port.
const zkPort = "2181"

// zkTimeout is the only parameter of a ZooKeeper URL: how long the servers keep the
// locks of a process that was killed.
const zkTimeout = "session_timeout"

func parseZooKeeper(rawURL string) (servers []string, opts []zklock.Option, err error) {
	u, err := parseHosts(rawURL, zkPort)
	if err != nil {
		return nil, nil, err
	}
	name, password, err := u.login()
	switch {
	case err != nil:
		return nil, nil, err
	case strings.ContainsRune(name, ':'):
		return nil, nil, errors.New("the user has a colon, which ZooKeeper does not allow")
	case name != "":
		opts = append(opts, zklock.WithDigest(name, password))
	}
	if chroot := strings.TrimSuffix(u.path, "/"); chroot != "" {
		opts = append(opts, zklock.WithRoot(chroot+zklock.DefaultRoot))
	}
	if err := u.onlyParameters(zkTimeout); err != nil {
		return nil, nil, err
	}
	if value, ok := u.parameter(zkTimeout); ok {
		d, err := time.ParseDuration(value)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", zkTimeout, err)
		}
		opts = append(opts, zklock.WithSessionTimeout(d))
	}
	return u.servers, opts, nil
}
