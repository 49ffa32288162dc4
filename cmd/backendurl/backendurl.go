// Package backendurl opens the store that the -backend flag of a command names. All
// commands of this module accept the same values.
package backendurl

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
)

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

// ReachTimeout limits the check that the store answers. It is short because a user
// waits at a terminal, and long enough for a TLS handshake around the world.
const ReachTimeout = 3 * time.Second

// Backend is an open store. It does not implement [driver.Backend]: a wrapper would
// hide the optional abilities of the backend that it wraps.
type Backend struct {
	// Backend is for [distlock.New]. The Locker closes it.
	Backend driver.Backend

	// Client is what Backend uses: a *redis.Client, *sql.DB, *clientv3.Client, [Kube],
	// [DynamoDB] or [S3]. It is nil for ZooKeeper, because there the backend has its own connection.
	Client any

	Dialect  sqllock.Dialect // of a *sql.DB
	Servers  []string        // host and port of each server; of SQLite the file
	Password bool            // the URL has one, or the store asks for one
	TLS      bool

	reach func(context.Context) error // checks that the store answers; may change it
	end   func() error                // closes the client, once
}

// Close closes the client. Close the [distlock.Locker] first, because it still has locks to
// release. Further calls do nothing and return the same error.
func (b *Backend) Close() error { return b.end() }
