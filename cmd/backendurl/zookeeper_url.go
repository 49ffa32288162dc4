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

// ZooKeeper is a parsed URL of ZooKeeper servers.
type ZooKeeper struct {
	Servers        []string // each with its port
	User, Password string
	Root           string        // the node below which the locks are
	SessionTimeout time.Duration // that the client asks for
}

func parseZooKeeper(rawURL string) (*ZooKeeper, error) {
	u, err := parseHosts(rawURL, zkPort)
	if err != nil {
		return nil, err
	}
	z := &ZooKeeper{Servers: u.servers, Root: zklock.DefaultRoot, SessionTimeout: zklock.DefaultSessionTimeout}
	z.User, z.Password, err = u.login()
	switch {
	case err != nil:
		return nil, err
	case strings.ContainsRune(z.User, ':'):
		return nil, errors.New("the user has a colon, which ZooKeeper does not allow")
	}
	z.Root = strings.TrimSuffix(u.path, "/") + z.Root
	if err := u.onlyParameters(zkTimeout); err != nil {
		return nil, err
	}
	if value, ok := u.parameter(zkTimeout); ok {
		if z.SessionTimeout, err = time.ParseDuration(value); err != nil {
			return nil, fmt.Errorf("%s: %w", zkTimeout, err)
		}
	}
	return z, nil
}

// options returns the options of the backend.
func (z *ZooKeeper) options() []zklock.Option {
	opts := []zklock.Option{zklock.WithRoot(z.Root), zklock.WithSessionTimeout(z.SessionTimeout)}
	if z.User != "" {
		opts = append(opts, zklock.WithDigest(z.User, z.Password))
	}
	return opts
}
