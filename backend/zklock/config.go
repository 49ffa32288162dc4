package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/driver"
)

// DefaultRoot is the default of Config.Root.
const DefaultRoot = "/distlock"

const (
	defaultSessionTimeout = 20 * time.Second
	minSessionTimeout     = 100 * time.Millisecond
	maxSessionTimeout     = 24 * time.Hour
	defaultOpTimeout      = 2 * time.Second
)

// Names are the names of the nodes. All processes that share a lock must use the same.
type Names int

const (
	// MutexNames are the default: Curator's InterProcessMutex and LeaderSelector see
	// the nodes, and so does the Lock of go-zookeeper.
	MutexNames Names = iota

	// ReadWriteNames are for Curator's InterProcessReadWriteLock. It sees exclusive
	// locks as write locks, and shared locks as read locks.
	ReadWriteNames

	// KazooNames are for Lock, WriteLock and ReadLock of kazoo, in Python. Its Lock
	// does not see readers: programs that share a lock with readers use its WriteLock.
	KazooNames
)

// tags are the tags of exclusive and of shared locks.
var tags = map[Names]struct{ exclusive, shared string }{
	MutexNames: {tagLock, tagRead}, ReadWriteNames: {tagWrite, tagRead}, KazooNames: {tagKazoo, tagKazooR},
}

// Config configures [New]. The zero value is valid.
type Config struct {
	// Root is the path of the node below which the locks are, such as "/shop/locks".
	// The node is created if it does not exist, and never deleted. "/" is the top of
	// the tree. The default is [DefaultRoot].
	Root string

	// SessionTimeout is how long the server keeps the locks of a process that it does
	// not hear from, between 100 ms and 24 h. The server may agree to less or demand
	// more. No lease is longer than half of the agreed timeout: see the package
	// comment. The default is 20 s.
	SessionTimeout time.Duration

	// OpTimeout bounds one operation on the server, including the wait for a
	// connection. An operation that has no answer by then fails. The minimum is 1 ms,
	// and the default is 2 s.
	OpTimeout time.Duration

	// User and Password are the credentials for ZooKeeper's digest scheme. Unless ACL
	// says otherwise, the nodes then belong to this user alone. If another user owns
	// the nodes above the root, the root must already exist. The user has no colon. The
	// default is no user.
	User, Password string

	// ACL is the access control list of the nodes. It must allow every user of the
	// locks to create, read, write and delete. By default all clients have all
	// permissions, or with a user that user alone.
	ACL []zk.ACL

	// Dialer opens the connections, for TLS or a proxy. It is called for each
	// connection, maybe concurrently, with an address that was just looked up, or with
	// the name of a server if that is not known. It should return within the timeout.
	// If it reads its certificates each time, it can use renewed ones. The default is
	// [net.DialTimeout].
	Dialer zk.Dialer

	// Names are the names of the nodes, which decide what recipes of other libraries
	// see. The default is [MutexNames].
	Names Names

	lookup func(ctx context.Context, host string) ([]string, error) // of the names of servers
}

// withDefaults returns the Config with a value in each field that needs one, or an
// error if one is invalid.
func (c Config) withDefaults() (Config, error) {
	c.Root = cmp.Or(c.Root, DefaultRoot)
	c.SessionTimeout, c.OpTimeout = cmp.Or(c.SessionTimeout, defaultSessionTimeout), cmp.Or(c.OpTimeout, defaultOpTimeout)
	if err := c.check(); err != nil {
		return c, fmt.Errorf("zklock: Config.%w", err)
	}
	c.Root = strings.TrimSuffix(c.Root, "/")
	switch {
	case len(c.ACL) > 0:
	case c.User != "":
		c.ACL = zk.AuthACL(zk.PermAll)
	default:
		c.ACL = zk.WorldACL(zk.PermAll)
	}
	if c.Dialer == nil {
		c.Dialer = net.DialTimeout
	}
	if c.lookup == nil {
		c.lookup = net.DefaultResolver.LookupHost
	}
	return c, nil
}

// check returns an error that begins with the name of a field if its value is invalid.
func (c *Config) check() error {
	if err := checkPath(c.Root); err != nil {
		return fmt.Errorf("Root: %w", err)
	}
	if d := c.SessionTimeout; d < minSessionTimeout || d > maxSessionTimeout {
		return fmt.Errorf("SessionTimeout: %v is not between 100ms and 24h", d)
	}
	if c.OpTimeout < time.Millisecond {
		return fmt.Errorf("OpTimeout: %v is less than a millisecond", c.OpTimeout)
	}
	if c.User == "" && c.Password != "" || strings.Contains(c.User, ":") {
		return fmt.Errorf("User: user %q is empty or has a colon", c.User)
	}
	if c.ACL != nil && len(c.ACL) == 0 {
		return errors.New("ACL: no entry")
	}
	if _, ok := tags[c.Names]; !ok {
		return fmt.Errorf("Names: %d is unknown", c.Names)
	}
	return nil
}

// kindOf returns what the nodes of owners ask for.
func (c *Config) kindOf(s driver.Sharing) kind {
	switch {
	case s.Permits > 0:
		return kind{tagPermit + strconv.Itoa(s.Permits) + tagEnd, s}
	case s.Mode == driver.Shared:
		return kind{tags[c.Names].shared, s}
	default:
		return kind{tags[c.Names].exclusive, s}
	}
}
