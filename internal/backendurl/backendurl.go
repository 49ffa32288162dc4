// Package backendurl opens the store of locks that the -backend flag of a
// command names, so that all commands of this module take the same values.
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

// Usage describes the values of a -backend flag, for its help text.
const Usage = "where the locks are: embedded (inside this process), " +
	"redis://[user:password@]host:port/db (rediss://… for TLS), or " +
	"zk://[user:password@]host:port,host:port/chroot"

// reachTimeout bounds the question whether the store is there. It is short
// because somebody looks at a terminal, and long enough for a TLS handshake
// around the world.
const reachTimeout = 3 * time.Second

// ErrURL marks what is wrong with the value itself, as opposed to the store
// that it names: for a command, a mistake in its usage.
var ErrURL = errors.New("invalid backend")

// Backend is a store that was opened. It is not a [driver.Backend] itself: a
// wrapper would hide the optional abilities of the one that it wraps.
type Backend struct {
	// Backend is for [distlock.New]. Closing it is the Locker's business.
	Backend driver.Backend

	close sync.Once
	end   func() error // closes what the Backend stands on
	err   error        // of end
}

// Close closes the client, and the server if it is the embedded one. Close the
// [distlock.Locker] first: it still has locks to give back. Only the first call
// does anything; the others return the same.
func (b *Backend) Close() error {
	b.close.Do(func() { b.err = b.end() })
	return b.err
}

// opener opens the backend that a URL names. Its errors may not quote the URL,
// which may have a password in it; if they are about the URL, they wrap ErrURL.
type opener func(ctx context.Context, rawURL string) (*Backend, error)

// schemes are the values there are. New kinds of backends are added here.
var schemes = []struct {
	name string
	form string // what a whole value looks like
	open opener
}{
	{"embedded", "embedded", openEmbedded},
	{"redis", "redis://[user:password@]host:port/db", openRedis},
	{"rediss", "rediss://[user:password@]host:port/db", openRedis},
	{"zk", "zk://[user:password@]host:port,host:port/chroot", openZooKeeper},
}

// Open opens the backend that rawURL names and makes sure that it answers, which
// takes a few seconds at most. Errors are one line and name rawURL, without user
// and password; they match [ErrURL] if rawURL itself is what is wrong.
func Open(ctx context.Context, rawURL string) (*Backend, error) {
	b, err := find(rawURL)(ctx, rawURL)
	if err != nil {
		return nil, fmt.Errorf("backend %q: %w", redact(rawURL), err)
	}
	return b, nil
}

// find returns the opener for rawURL, or one that says why there is none.
func find(rawURL string) opener {
	name, _, isURL := strings.Cut(rawURL, "://")
	for _, s := range schemes {
		if strings.EqualFold(name, s.name) && isURL == strings.Contains(s.form, "://") {
			return s.open
		}
	}
	return func(context.Context, string) (*Backend, error) {
		forms := make([]string, len(schemes))
		for i, s := range schemes {
			forms[i] = s.form
		}
		return nil, fmt.Errorf("%w: want one of %s", ErrURL, strings.Join(forms, ", "))
	}
}
