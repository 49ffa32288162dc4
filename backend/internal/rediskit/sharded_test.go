package rediskit_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// A sharded channel is on the server that has its slot. When the slot moves, the channel follows,
// and its subscriber is told to look.
func TestShardedChannelFollowsItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owner atomic.Int32
		var subscribed [2]atomic.Pointer[server.Peer]
		servers := [2]*miniredis.Miniredis{redistest.Virtual(t), redistest.Virtual(t)}
		push := func(c *server.Peer, text string) {
			c.WriteRaw(text)
			c.Flush()
		}
		for i, m := range servers {
			m.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
				switch here := owner.Load() == int32(i); {
				case cmd == "CLUSTER": // SLOTS
					c.WriteRaw("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\n" + []string{"x", "y"}[owner.Load()] + "\r\n:1\r\n")
				case cmd == "SSUBSCRIBE" && here:
					subscribed[i].Store(c)
					c.WriteRaw("*3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n")
				case cmd == "SSUBSCRIBE":
					c.WriteError("MOVED 0 x:1")
				default:
					return false
				}
				return true
			})
		}
		c := redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: []string{"x:1"}, Protocol: 2,
			Dialer: func(_ context.Context, _, addr string) (net.Conn, error) { return servers[addr[0]-'x'].Dial() },
			// Otherwise it looks the name up, and package net keeps a channel of the bubble.
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		bg := background.New()
		defer time.Sleep(time.Minute) // the client asks for the slots once more
		defer c.Close()
		defer bg.End(time.Minute)
		l := rediskit.NewShardedListener(c, bg)
		var a heard
		defer l.Subscribe("a", a.message, a.look)()
		a.want(t, "the subscription works", "look")
		for from := range servers {
			push(subscribed[from].Load(), "*3\r\n$8\r\nsmessage\r\n$1\r\na\r\n$5\r\nhello\r\n")
			a.want(t, "a message", "hello")
			owner.Store(int32(1 - from))
			push(subscribed[from].Load(), "*3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:0\r\n")
			a.want(t, "the slot has moved")
			time.Sleep(2 * rediskit.PingEvery)
			if a.want(t, "the channel has moved", "look"); t.Failed() {
				return
			}
		}
	})
}
