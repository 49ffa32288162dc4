// Package backendurl opens the store that the -backend flag of a command names. All
// commands of this module accept the same values.
package backendurl

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
)

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
	TLS      bool            // no connection is without it

	reach func(context.Context) error // checks that the store answers; may change it. The default is ping
	end   func() error                // closes the client, once; by default there is nothing to close
}

func (b *Backend) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ReachTimeout)
	defer cancel()
	return b.Backend.(driver.Pinger).Ping(ctx)
}

// Close closes the client. Close the [distlock.Locker] first, because it still has locks to
// release. Further calls do nothing and return the same error.
func (b *Backend) Close() error { return b.end() }
