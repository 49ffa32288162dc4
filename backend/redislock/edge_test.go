package redislock_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

func openVirtual(t *testing.T, change func(*redis.Options)) driver.Backend {
	return newBackend(t, redistest.VirtualClient(t, redistest.Virtual(t), change), redislock.Config{OpTimeout: time.Second})
}

// Fails if a function of the user runs on the goroutine of a caller, who cannot leave
// it.
func TestVirtualUserFunctionsStuck(t *testing.T) { redistest.Stuck(t, openVirtual) }

// Fails if connections that died without a word are found out one operation at a time.
func TestVirtualForgottenConnections(t *testing.T) { redistest.Forgotten(t, openVirtual) }

// Fails if only one of the packages for Redis warns of eviction.
func TestVirtualAsksForEviction(t *testing.T) { redistest.Asked(t, openVirtual) }

// A client for one server asks a member of a Cluster. Fails if that is repeated until
// the caller gives up, or if the error does not say what to do.
func TestVirtualMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		b := newBackend(t, redistest.VirtualClient(t, m))
		l := distlock.New(b, distlock.Config{})
		defer l.Close()
		var attempts atomic.Int32
		m.Server().SetPreHook(func(c *mini.Peer, name string, _ ...string) bool {
			moved := strings.HasPrefix(name, "EVAL")
			if moved {
				attempts.Add(1)
				c.WriteError("MOVED 8579 127.0.0.1:7001")
			}
			return moved
		})
		start := time.Now()
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{})
		if !errors.Is(err, distlock.ErrUnavailable) || !errors.Is(err, errors.ErrUnsupported) || time.Since(start) != 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		says(t, "the error", err, "MOVED 8579")
		says(t, "the error", err, "redis.NewClusterClient")
		if n := attempts.Load(); n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
}
