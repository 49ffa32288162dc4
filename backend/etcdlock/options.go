package etcdlock

import (
	"errors"
	"fmt"
	"time"
)

// Defaults of the options.
const (
	DefaultPrefix     = "distlock/"
	DefaultSessionTTL = 20 * time.Second
	DefaultOpTimeout  = 2 * time.Second
)

// Option is an option of [New]. If its value is invalid, New returns an error that names
// the option and the value.
type Option func(*options)

type options struct {
	prefix     string
	sessionTTL time.Duration
	opTimeout  time.Duration
	err        error // of the first invalid option
}

func newOptions(opts []Option) (options, error) {
	o := options{prefix: DefaultPrefix, sessionTTL: DefaultSessionTTL, opTimeout: DefaultOpTimeout}
	for _, opt := range opts {
		if opt == nil {
			return o, errors.New("etcdlock: nil Option")
		}
		if opt(&o); o.err != nil {
			return o, o.err
		}
	}
	return o, nil
}

// refuse makes New fail because of an option.
func (o *options) refuse(option, format string, args ...any) {
	o.err = fmt.Errorf("etcdlock: "+option+": "+format, args...)
}

// WithPrefix sets what the names of all keys in etcd begin with, such as "shop/locks/". It
// may be empty. The default is [DefaultPrefix].
func WithPrefix(prefix string) Option {
	return func(o *options) { o.prefix = prefix }
}

// WithSessionTTL sets how long etcd keeps the locks of a process that it does not hear
// from: the TTL of the Backend's lease of etcd. No lease of a lock is longer than half of
// it: see the package comment. The server may demand more. The default is
// [DefaultSessionTTL]. A TTL that is not between 1 s and 24 h, in whole seconds, is
// refused.
func WithSessionTTL(d time.Duration) Option {
	return func(o *options) {
		if d < time.Second || d > 24*time.Hour || d%time.Second != 0 {
			o.refuse("WithSessionTTL", "%v is not a number of whole seconds between 1s and 24h", d)
		}
		o.sessionTTL = d
	}
}

// WithOpTimeout bounds one request to the servers. A request that has no answer by then
// fails. The default is [DefaultOpTimeout]. Less than a millisecond is refused.
func WithOpTimeout(d time.Duration) Option {
	return func(o *options) {
		if d < time.Millisecond {
			o.refuse("WithOpTimeout", "%v is less than a millisecond", d)
		}
		o.opTimeout = d
	}
}
