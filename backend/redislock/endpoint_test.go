package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/testkit"
)

// The address of a server leads to another one, and the old server refuses, for example
// because it has become a replica. Its connections stay open.
//
// Row 19 (redislock): each operation comes to the new server. Fails if a
// connection to a server that refuses is used again, as go-redis does after most errors, or
// if a script hides the error in its reply.
func TestEndpointMoves(t *testing.T) {
	redistest.EachMove(t, 1, func(t *testing.T, clients []*redis.Client, move func()) {
		b := newBackend(t, clients[0], redislock.WithOpTimeout(10*time.Second))
		held, extended, leaving := mustTry(t, b, request("held")), mustTry(t, b, request("extended")), mustTry(t, b, request("leaving"))
		move()
		lost := func(err error) bool { return errors.Is(err, driver.ErrLost) }
		for what, done := range map[string]func() bool{
			"a renewal":        func() bool { return driver.RenewAll(t.Context(), b, []driver.Grant{held})[0].Status == driver.Lost },
			"an extension":     func() bool { _, err := b.Extend(t.Context(), extended, 1); return lost(err) },
			"a release":        func() bool { return lost(b.Release(t.Context(), leaving)) },
			"a place given up": func() bool { r := request("place"); return b.Release(t.Context(), r.Grant()) == nil },
			"an attempt":       func() bool { _, err := b.TryAcquire(t.Context(), request("free")); return err == nil || isHeld(err) },
			"all of some keys": func() bool { _, err := b.TryAcquireAll(t.Context(), requestAll()); return err == nil || isHeld(err) },
			"a ping":           func() bool { return b.Ping(t.Context()) == nil },
			"a revocation":     func() bool { _, err := b.Revoke(t.Context(), "free"); return err == nil },
			"an inspection":    func() bool { _, err := b.Inspect(t.Context(), "none", 1); return err == nil },
			"force":            func() bool { _, err := b.ForceRelease(t.Context(), "none"); return err == nil },
		} {
			testkit.Eventually(t, what, done)
		}
	})
}

func isHeld(err error) bool { return errors.Is(err, driver.ErrNotAcquired) }
