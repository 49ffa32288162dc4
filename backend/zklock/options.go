package zklock

import (
	"crypto/sha1" //nolint:gosec // ZooKeeper's digest scheme is made of it
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// Defaults of the options.
const (
	DefaultRoot           = "/distlock"
	DefaultSessionTimeout = 20 * time.Second
	DefaultOpTimeout      = 2 * time.Second
)

// DialFunc opens a connection to a server. It may be called by several Backends
// at once, and should return within the timeout.
type DialFunc func(network, address string, timeout time.Duration) (net.Conn, error)

// Option changes a default of [New], which returns an error that names the option
// for a value that makes no sense.
type Option func(*options) error

type options struct {
	root           string
	path           func(key string) string
	sessionTimeout time.Duration
	opTimeout      time.Duration
	user, password string
	acl            []zk.ACL
	dial           DialFunc
	logger         *slog.Logger
	exclusive      string // the tag of exclusive locks
}

func newOptions(opts []Option) (options, error) {
	o := options{
		root: DefaultRoot, sessionTimeout: DefaultSessionTimeout, opTimeout: DefaultOpTimeout,
		dial: net.DialTimeout, logger: slog.New(slog.DiscardHandler), exclusive: tagLock,
	}
	for _, opt := range opts {
		if opt == nil {
			return o, errors.New("zklock: nil Option")
		}
		if err := opt(&o); err != nil {
			return o, fmt.Errorf("zklock: %w", err)
		}
	}
	if o.acl == nil {
		o.acl = zk.WorldACL(zk.PermAll)
		if o.user != "" {
			o.acl = zk.AuthACL(zk.PermAll)
		}
	}
	return o, nil
}

// WithRoot sets the node below which the locks are, such as "/shop/locks". It is
// created if need be, and never deleted. "/" is the top of the tree. The default is
// [DefaultRoot].
func WithRoot(path string) Option {
	return func(o *options) error {
		if err := checkPath(path); err != nil {
			return fmt.Errorf("WithRoot: %w", err)
		}
		o.root = strings.TrimSuffix(path, "/")
		return nil
	}
}

// WithPath sets which node below the root stands for a key, so that locks can be
// shared with programs that have their own names for them. It returns a path
// relative to the root, without a slash in front, may be called concurrently, and
// must give different keys different paths, none of which lies below another's.
// The default is [EscapeKey]; with another one the Backend cannot tell which keys
// there are, and Inspect fails.
func WithPath(path func(key string) string) Option {
	return func(o *options) error {
		if path == nil {
			return errors.New("WithPath: nil function")
		}
		o.path = path
		return nil
	}
}

// WithSessionTimeout sets how long the server keeps the locks of a process from
// which it hears nothing. The server may allow less or demand more. No lease is
// longer than half of what they agree upon, see the package comment. The default
// is [DefaultSessionTimeout]; less than 100 ms is refused.
func WithSessionTimeout(d time.Duration) Option {
	return func(o *options) error {
		if d < 100*time.Millisecond || d > 24*time.Hour {
			return fmt.Errorf("WithSessionTimeout: %v is not between 100ms and 24h", d)
		}
		o.sessionTimeout = d
		return nil
	}
}

// WithOpTimeout bounds one operation on the server, and how long it waits for a
// connection. An operation that has no answer by then fails. The default is
// [DefaultOpTimeout]; less than a millisecond is refused.
func WithOpTimeout(d time.Duration) Option {
	return func(o *options) error {
		if d < time.Millisecond {
			return fmt.Errorf("WithOpTimeout: %v is less than a millisecond", d)
		}
		o.opTimeout = d
		return nil
	}
}

// WithDigest makes the connection authenticate itself with ZooKeeper's digest
// scheme. The nodes then belong to the user alone unless [WithACL] says otherwise;
// the root must exist already if another user owns the nodes above it.
func WithDigest(user, password string) Option {
	return func(o *options) error {
		if user == "" || strings.Contains(user, ":") {
			return fmt.Errorf("WithDigest: user %q is empty or has a colon", user)
		}
		o.user, o.password = user, password
		return nil
	}
}

// WithACL sets who may do what with the nodes. The permissions must let everybody
// who uses the locks create, read, write and delete. The default lets everybody do
// everything, and only the user of [WithDigest] if there is one.
func WithACL(acl ...zk.ACL) Option {
	return func(o *options) error {
		if len(acl) == 0 {
			return errors.New("WithACL: no entry")
		}
		o.acl = acl
		return nil
	}
}

// DigestACL is an entry for [WithACL] that gives perms to a user of the digest
// scheme.
func DigestACL(perms int32, user, password string) zk.ACL {
	sum := sha1.Sum([]byte(user + ":" + password)) //nolint:gosec // the scheme's, not ours to choose
	return zk.ACL{Perms: perms, Scheme: "digest", ID: user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// WithDialer sets how connections are opened, for TLS or a proxy. The default is
// [net.DialTimeout].
func WithDialer(dial DialFunc) Option {
	return func(o *options) error {
		if dial == nil {
			return errors.New("WithDialer: nil function")
		}
		o.dial = dial
		return nil
	}
}

// WithLogger sets where the client library's messages on connections go, at level
// Debug. The default drops them; nil is refused.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) error {
		if l == nil {
			return errors.New("WithLogger: nil logger")
		}
		o.logger = l
		return nil
	}
}

// WithReadWriteNames names the nodes of exclusive locks as Curator's
// InterProcessReadWriteLock names its write locks. The default is the name that
// its InterProcessMutex has. All processes that share a lock must choose alike.
func WithReadWriteNames() Option {
	return func(o *options) error {
		o.exclusive = tagWrite
		return nil
	}
}
