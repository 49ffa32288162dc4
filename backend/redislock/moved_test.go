package redislock_test

import (
	"testing"
	"testing/synctest"

	mini "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// What the server says about itself is the reply of the whole script, where go-redis sees it.
func TestVirtualServerRefusesScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		s := scripts{server{Client: redistest.VirtualClient(t, m), mini: m}, t}
		s.join("a1", writes)
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
