// Package backendurl opens the store that the -backend flag of a command names. All
// commands of this module accept the same values.
package backendurl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
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

	// Client is what Backend uses: a *redis.Client, *sql.DB or *clientv3.Client. It is
	// nil for ZooKeeper, because there the backend has its own connection.
	Client any

	Dialect  sqllock.Dialect // of a *sql.DB
	Servers  []string        // host and port of each server; of SQLite the file
	Password bool            // the URL has one
	TLS      bool

	reach func(context.Context) error // checks that the store answers; may change it
	end   func() error                // closes the client and the server, once
}

// Close closes the client, and the server if it is embedded. Close the
// [distlock.Locker] first, because it still has locks to release. Further calls do
// nothing and return the same error.
func (b *Backend) Close() error { return b.end() }

// scheme is a kind of values.
type scheme struct {
	prefix string // in any case
	form   string // of the rest; "": there is none
	port   string // the default; "": the rest is not a URL
	rules         // of a URL

	// connect makes the backend. It does not ask the store for anything; only etcd checks
	// the password of a user. An error about the URL wraps ErrURL.
	connect func(context.Context, *hostURL) (*Backend, error)
}

var schemes = []scheme{
	{"embedded", "", "", rules{}, connectEmbedded},
	{"redis://", "[user:password@]host:port/db", "6379", redisRules, connectRedis},
	{"rediss://", "[user:password@]host:port/db", "6379", redisRules, connectRedis},
	{"zk://", "[user:password@]host:port,host:port/chroot", "2181", zkRules, connectZooKeeper},
	{"postgres://", "[user:password@]host:port/db", "5432", postgresRules, connectPostgres},
	{"postgresql://", "[user:password@]host:port/db", "5432", postgresRules, connectPostgres},
	{"mysql://", "[user:password@]host:port/db", "3306", mysqlRules, connectMySQL},
	{"sqlite:", "path", "", rules{file: true}, connectSQLite},
	{"etcd://", "[user:password@]host:port,host:port/prefix", "2379", etcdRules, connectEtcd},
}

// Open opens the backend that rawURL names and checks that it answers, which takes at
// most a few seconds. In a database without tables for locks it creates them. An error
// is one line that names rawURL without user, password and parameters, and quotes nothing
// of a value that it cannot read. It wraps [ErrURL] if rawURL is invalid.
func Open(ctx context.Context, rawURL string) (*Backend, error) {
	b, err := Connect(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	if err := b.reach(ctx); err != nil {
		if c, ok := b.Backend.(io.Closer); ok {
			_ = c.Close() // it was never used
		}
		_ = b.Close()
		return nil, refused(rawURL, because(ctx, err))
	}
	return b, nil
}

// Connect is [Open] without the check: it changes nothing in the store. With etcd and a
// user it logs in.
func Connect(ctx context.Context, rawURL string) (*Backend, error) {
	s, u, err := parse(rawURL)
	if err == nil {
		err = s.check(u)
	}
	if err != nil {
		return nil, refused(rawURL, invalid(err))
	}
	b, err := s.connect(ctx, u)
	if err != nil {
		return nil, refused(rawURL, because(ctx, err))
	}
	b.end = sync.OnceValue(b.end)
	b.Servers = u.servers
	b.Password, b.TLS = b.Password || u.password() != "", b.TLS || u.tls != nil
	return b, nil
}

// invalid returns err as an error about the URL.
func invalid(err error) error { return fmt.Errorf("%w: %w", ErrURL, err) }

// because returns err with the reason for which ctx has ended.
func because(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		return fmt.Errorf("%w: %w", end, err)
	}
	return err
}

// InProcess reports whether the locks that rawURL names are inside this process, where
// they exclude only this process.
func InProcess(rawURL string) bool { return strings.EqualFold(rawURL, "embedded") }

// parse returns the scheme of rawURL, and its parts.
func parse(rawURL string) (scheme, *hostURL, error) {
	forms := make([]string, len(schemes))
	for i, s := range schemes {
		rest, ok := cutPrefixFold(rawURL, s.prefix)
		switch {
		case !ok || s.form == "" && rest != "":
			forms[i] = s.prefix + s.form
		case s.port == "":
			return s, &hostURL{servers: []string{rest}, path: rest}, nil
		default:
			u, err := parseHosts(rest, s.port)
			if err == nil {
				u.scheme = strings.TrimSuffix(s.prefix, "://")
			}
			return s, u, err
		}
	}
	return scheme{}, nil, fmt.Errorf("want one of %s", strings.Join(forms, ", "))
}

// cutPrefixFold is [strings.CutPrefix] in any case, for an ASCII prefix.
func cutPrefixFold(s, prefix string) (rest string, found bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
