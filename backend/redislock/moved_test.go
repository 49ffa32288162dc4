package redislock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// What the server says about itself is the reply of the whole script, where go-redis sees it.
func TestVirtualServerRefusesScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		s := scripts{server{Client: redistest.VirtualClient(t, m), mini: m}, t}
		s.take("a1")
		for _, code := range []string{"READONLY", "MASTERDOWN", "MISCONF", "NOREPLICAS"} {
			m.Server().SetPreHook(func(c *mini.Peer, name string, _ ...string) bool {
				refused := name == "SET" || name == "GETSET" || name == "DEL" || name == "PEXPIRE"
				if refused {
					c.WriteError(code + " as the server says")
				}
				return refused
			})
			op := redislock.ScriptOp{Key: lockKey, Owner: "a1", TTL: 2 * testTTL, Mode: "try", InDoubt: true}
			for name, reply := range map[string]func() ([]string, error){
				"acquire": func() ([]string, error) { return s.run(acquires, op) },
				"renew":   func() ([]string, error) { return s.run(renews, op) },
				"release": func() ([]string, error) { return s.run(releases, op) },
			} {
				if lines, err := reply(); lines != nil || !redis.HasErrorPrefix(err, code) {
					t.Errorf("%s under %s: %q, %v", name, code, lines, err)
				}
			}
		}
	})
}

// The connections that exist lead to a server that refuses, and new ones to one that does not:
// each operation comes to the new server.
func TestVirtualEndpointMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		b := newBackend(t, redistest.VirtualClient(t, m, redistest.Buffered))
		r := request("held")
		r.TTL = time.Hour
		held, err := b.TryAcquire(t.Context(), r)
		noError(t, err)
		var mu sync.Mutex
		var moved bool
		old := make(map[*mini.Peer]bool)
		m.Server().SetPreHook(func(c *mini.Peer, name string, _ ...string) bool {
			mu.Lock()
			defer mu.Unlock()
			if !moved {
				old[c] = true
			}
			refused := moved && old[c] && (name == "EVALSHA" || name == "EVAL")
			if refused {
				c.WriteError("MISCONF as this server says")
			}
			return refused
		})
		for what, done := range map[string]func() bool{
			"a renewal":  func() bool { return driver.RenewAll(t.Context(), b, []driver.Grant{held})[0].Status == driver.Renewed },
			"an attempt": func() bool { _, err := b.TryAcquire(t.Context(), request("free")); return err == nil || isHeld(err) },
			"a ping":     func() bool { return b.Ping(t.Context()) == nil },
		} {
			for range 2 { // the connections for this operation, before the address leads elsewhere
				done()
			}
			mu.Lock()
			moved = true
			mu.Unlock()
			came := false
			for i := 0; i < 100 && !came; i++ {
				time.Sleep(100 * time.Millisecond) // as often as a connection is left
				came = done()
			}
			if !came {
				t.Errorf("%s never comes to the new server", what)
			}
			mu.Lock()
			moved = false
			mu.Unlock()
			time.Sleep(time.Second)
		}
	})
}
