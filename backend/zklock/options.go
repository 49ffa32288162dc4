package zklock

import (
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

// Defaults of the options.
const (
	DefaultRoot           = "/distlock"
	DefaultSessionTimeout = 20 * time.Second
	DefaultOpTimeout      = 2 * time.Second
)

const (
	minSessionTimeout = 100 * time.Millisecond
	maxSessionTimeout = 24 * time.Hour
)

// DialFunc opens a connection to a server. It is called for each connection, with an address
// that was just looked up, or with the name of a server if that is not known. It may be
// called concurrently and should return within the timeout.
type DialFunc func(network, address string, timeout time.Duration) (net.Conn, error)

// Option changes a default of [New]. If its value is invalid, New returns an error that
// names the option and the value.
type Option func(*options)

type options struct {
	root           string
	sessionTimeout time.Duration
	opTimeout      time.Duration
	credentials    func() (user, password string, err error) // nil if there are none
	acl            []zk.ACL
	lookup         func(ctx context.Context, host string) ([]string, error)
	dial           DialFunc
	exclusive      string // the tag of exclusive locks
	shared         string // the tag of shared locks
	err            error  // of the first invalid option
}

func newOptions(opts []Option) (options, error) {
	o := options{
		root: DefaultRoot, sessionTimeout: DefaultSessionTimeout, opTimeout: DefaultOpTimeout,
		dial: net.DialTimeout, lookup: net.DefaultResolver.LookupHost, exclusive: tagLock, shared: tagRead,
	}
	for _, opt := range opts {
		if opt == nil {
			return o, errors.New("zklock: nil Option")
		}
		if opt(&o); o.err != nil {
			return o, o.err
		}
	}
	if o.acl == nil {
		o.acl = zk.WorldACL(zk.PermAll)
		if o.credentials != nil {
			o.acl = zk.AuthACL(zk.PermAll)
		}
	}
	return o, nil
}

// kindOf returns what the nodes of owners ask for.
func (o *options) kindOf(s driver.Sharing) kind {
	switch {
	case s.Permits > 0:
		return kind{tagPermit + strconv.Itoa(s.Permits) + tagEnd, s}
	case s.Mode == driver.Shared:
		return kind{o.shared, s}
	default:
		return kind{o.exclusive, s}
	}
}

// refuse makes New fail because of an option.
func (o *options) refuse(option, format string, args ...any) {
	o.err = fmt.Errorf("zklock: "+option+": "+format, args...)
}

// WithRoot sets the node below which the locks are, such as "/shop/locks". It is created
// if it does not exist, and never deleted. "/" is the top of the tree. The default is
// [DefaultRoot]. A path that ZooKeeper does not accept is refused.
func WithRoot(path string) Option {
	return func(o *options) {
		if err := checkPath(path); err != nil {
			o.refuse("WithRoot", "%w", err)
		}
		o.root = strings.TrimSuffix(path, "/")
	}
}

// WithSessionTimeout sets how long the server keeps the locks of a process that it does
// not hear from. The server may agree to less or demand more. No lease is longer than
// half of the agreed timeout: see the package comment. The default is
// [DefaultSessionTimeout]. A timeout that is not between 100 ms and 24 h is refused.
func WithSessionTimeout(d time.Duration) Option {
	return func(o *options) {
		if d < minSessionTimeout || d > maxSessionTimeout {
			o.refuse("WithSessionTimeout", "%v is not between 100ms and 24h", d)
		}
		o.sessionTimeout = d
	}
}

// WithOpTimeout bounds one operation on the server, including the wait for a connection.
// An operation that has no answer by then fails. The default is [DefaultOpTimeout]. Less
// than a millisecond is refused.
func WithOpTimeout(d time.Duration) Option {
	return func(o *options) {
		if d < time.Millisecond {
			o.refuse("WithOpTimeout", "%v is less than a millisecond", d)
		}
		o.opTimeout = d
	}
}

// WithDigest sets the credentials for ZooKeeper's digest scheme. Unless [WithACL] says
// otherwise, the nodes then belong to this user alone. If another user owns the nodes
// above the root, the root must already exist. An empty user, or one with a colon, is
// refused.
func WithDigest(user, password string) Option {
	return func(o *options) {
		if err := checkUser(user); err != nil {
			o.refuse("WithDigest", "%w", err)
		}
		o.credentials = func() (string, string, error) { return user, password, nil }
	}
}

// WithDigestFunc is [WithDigest] for credentials that change. The function is called before
// each connection is opened, on a goroutine of the Backend, and should return within a
// second. If it fails, so does the connection, and the next one calls it again. For ZooKeeper
// another password is another user: [WithACL] must name it before it is used. A nil function
// is refused.
func WithDigestFunc(credentials func() (user, password string, err error)) Option {
	return func(o *options) {
		if credentials == nil {
			o.refuse("WithDigestFunc", "nil function")
		}
		o.credentials = credentials
	}
}

func checkUser(user string) error {
	if user == "" || strings.Contains(user, ":") {
		return fmt.Errorf("user %q is empty or has a colon", user)
	}
	return nil
}

// auth returns the present user and its credentials, as the digest scheme has them; none if
// there are none.
func (o *options) auth() (user string, auth []byte, err error) {
	if o.credentials == nil {
		return "", nil, nil
	}
	user, password, err := o.credentials()
	if err == nil {
		err = checkUser(user)
	}
	if err != nil {
		return "", nil, fmt.Errorf("credentials: %w", err)
	}
	return user, []byte(user + ":" + password), nil
}

// WithACL sets the access control list of the nodes. It must allow every user of the
// locks to create, read, write and delete. By default all clients have all permissions, or
// with [WithDigest] that user alone. An empty list is refused.
func WithACL(acl ...zk.ACL) Option {
	return func(o *options) {
		if len(acl) == 0 {
			o.refuse("WithACL", "no entry")
		}
		o.acl = acl
	}
}

// WithDialer sets the function that opens connections, for TLS or a proxy. A function that
// reads its certificates each time can use renewed ones. The default is
// [net.DialTimeout]. A nil function is refused.
func WithDialer(dial DialFunc) Option {
	return func(o *options) {
		if dial == nil {
			o.refuse("WithDialer", "nil function")
		}
		o.dial = dial
	}
}

// WithReadWriteNames names the nodes of exclusive locks so that Curator's
// InterProcessReadWriteLock sees them as write locks. By default its InterProcessMutex sees
// them. All processes that share a lock must use the same names.
func WithReadWriteNames() Option {
	return func(o *options) { o.exclusive, o.shared = tagWrite, tagRead }
}

// WithKazooNames names the nodes so that kazoo's Lock, WriteLock and ReadLock, in Python, see
// them. Its Lock does not see readers: programs that share a lock with readers use its
// WriteLock. All processes that share a lock must use the same names.
func WithKazooNames() Option {
	return func(o *options) { o.exclusive, o.shared = tagKazoo, tagKazooR }
}
