package etcdlock

import (
	"cmp"
	"fmt"
	"time"
)

// DefaultPrefix is the default of Config.Prefix.
const DefaultPrefix = "distlock/"

const (
	defaultSessionTTL = 20 * time.Second
	defaultOpTimeout  = 2 * time.Second
)

// Config configures [New]. The zero value is valid.
type Config struct {
	// Prefix is what the names of all keys in etcd begin with, such as "shop/locks/".
	// The default is [DefaultPrefix].
	Prefix string

	// SessionTTL is how long etcd keeps the locks of a process that it does not hear
	// from: the TTL of the process's lease of etcd. No lease of a lock is longer than
	// half of it: see the package comment. It is a number of whole seconds between 1 s
	// and 24 h. The server may demand more. The default is 20 s.
	SessionTTL time.Duration

	// OpTimeout bounds one request to the servers. A request that has no answer by then
	// fails. The minimum is 1 ms, and the default is 2 s.
	OpTimeout time.Duration
}

// withDefaults returns the Config with a value in each field, or an error if one is
// invalid.
func (c Config) withDefaults() (Config, error) {
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	c.SessionTTL, c.OpTimeout = cmp.Or(c.SessionTTL, defaultSessionTTL), cmp.Or(c.OpTimeout, defaultOpTimeout)
	if d := c.SessionTTL; d < time.Second || d > 24*time.Hour || d%time.Second != 0 {
		return c, fmt.Errorf("etcdlock: Config.SessionTTL: %v is not a number of whole seconds between 1s and 24h", d)
	}
	if c.OpTimeout < time.Millisecond {
		return c, fmt.Errorf("etcdlock: Config.OpTimeout: %v is less than a millisecond", c.OpTimeout)
	}
	return c, nil
}
