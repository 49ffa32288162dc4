// Package backendurl opens the store that the -backend flag of a command names. All
// commands of this module accept the same values.
package backendurl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Shared describes the values that name a store outside this process, for a help text.
const Shared = "redis://[user:password@]host:port/db (rediss://… for TLS; ?record=redisson for locks shared with Redisson), " +
	"zk://[user:password@]host:port,host:port/chroot, " +
	"postgres://[user:password@]host:port/db, " +
	"mysql://[user:password@]host:port/db, " +
	"sqlite:path, or " +
	"etcd://[user:password@]host:port,host:port/prefix"

// Usage describes all values of a -backend flag, for its help text.
const Usage = "where the locks are: embedded (inside this process), " + Shared

// reachTimeout limits the check that the store answers. It is short because a user
// waits at a terminal, and long enough for a TLS handshake around the world.
const reachTimeout = 3 * time.Second

// ErrURL means that the value itself is invalid, as opposed to the store that it names.
// A command reports it as a mistake in its usage.
var ErrURL = errors.New("invalid backend")

// Backend is an open store. It does not implement [driver.Backend]: a wrapper would
// hide the optional abilities of the backend that it wraps.
type Backend struct {
	// Backend is for [distlock.New]. The Locker closes it.
	Backend driver.Backend

	// Client is what Backend uses: a *redis.Client, *sql.DB, *clientv3.Client or, for
	// the embedded store, *embedded.Server. It is nil for ZooKeeper, because there the
	// backend has its own connection.
	Client any

	close sync.Once
	end   func() error // closes the client and the server
	err   error        // of end
}

// Close closes the client, and the server if it is embedded. Close the
// [distlock.Locker] first, because it still has locks to release. Further calls do
// nothing and return the same error.
func (b *Backend) Close() error {
	b.close.Do(func() { b.err = b.end() })
	return b.err
}

// opener opens the backend that a URL names. Its errors must not quote the URL, which
// may contain a password. An error about the URL itself wraps ErrURL.
type opener func(ctx context.Context, rawURL string) (*Backend, error)

// scheme is a kind of values.
type scheme struct {
	prefix string // in any case
	form   string // of the rest; "": there is none
	open   opener
}

var schemes = []scheme{
	{"embedded", "", openEmbedded},
	{"redis://", "[user:password@]host:port/db", openRedis},
	{"rediss://", "[user:password@]host:port/db", openRedis},
	{"zk://", "[user:password@]host:port,host:port/chroot", openZooKeeper},
	{"postgres://", "[user:password@]host:port/db", openPostgres},
	{"postgresql://", "[user:password@]host:port/db", openPostgres},
	{"mysql://", "[user:password@]host:port/db", openMySQL},
	{sqlitePrefix, "path", openSQLite},
	{"etcd://", "[user:password@]host:port,host:port/prefix", openEtcd},
}

// Open opens the backend that rawURL names and checks that it answers, which takes at
// most a few seconds. In a database without tables for locks it creates them. An error
// is one line that names rawURL without user, password and parameters, and quotes nothing
// of a value that it cannot read. It wraps [ErrURL] if rawURL is invalid.
func Open(ctx context.Context, rawURL string) (*Backend, error) {
	s, err := find(rawURL)
	var b *Backend
	if err == nil {
		b, err = s.open(ctx, rawURL)
	}
	if err != nil {
		return nil, refused(rawURL, err)
	}
	return b, nil
}

// InProcess reports whether the locks that rawURL names are inside this process, where
// they exclude only this process.
func InProcess(rawURL string) bool {
	path, ok := cutPrefixFold(rawURL, sqlitePrefix)
	return ok && path == inMemory || strings.EqualFold(rawURL, "embedded")
}

// find returns the scheme of rawURL.
func find(rawURL string) (scheme, error) {
	forms := make([]string, len(schemes))
	for i, s := range schemes {
		if rest, ok := cutPrefixFold(rawURL, s.prefix); ok && (s.form != "" || rest == "") {
			return s, nil
		}
		forms[i] = s.prefix + s.form
	}
	return scheme{}, fmt.Errorf("%w: want one of %s", ErrURL, strings.Join(forms, ", "))
}

// cutPrefixFold is [strings.CutPrefix] in any case, for an ASCII prefix.
func cutPrefixFold(s, prefix string) (rest string, found bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
