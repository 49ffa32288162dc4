package rediskit_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// An error lasts on the connections that exist, and new ones do not have it. If it is
// about the server, the client gets new ones. If it is about a key, it keeps those that
// it has. READONLY ends a connection without Leave.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		client := redistest.VirtualClient(t, m)
		bg := background.New()
		defer bg.End(time.Second)
		s := rediskit.NewServer("test", client, bg, time.Second)
		var mu sync.Mutex
		refusal, old := "", map[*server.Peer]bool{}
		m.Server().SetPreHook(func(c *server.Peer, name string, _ ...string) bool {
			mu.Lock()
			defer mu.Unlock()
			if refusal == "" {
				old[c] = true
			}
			if refusal == "" || name != "EVAL" || !old[c] {
				return false
			}
			c.WriteError(refusal + " as this server says")
			return true
		})
		begin := func(text string) {
			mu.Lock()
			defer mu.Unlock()
			refusal = text
		}
		ask := func() error {
			err := client.Process(t.Context(), rediskit.NewCmd(t.Context(), "eval", "return 1", 1, "key"))
			s.Leave(client, "key", err)
			synctest.Wait()
			return err
		}
		for code, leaves := range map[string]bool{
			"READONLY": true, "MASTERDOWN": true, "LOADING": true, "MISCONF": true, "NOREPLICAS": true, "OOM": true,
			"BUSY": true, "UNKILLABLE": true, "NOAUTH": true, "WRONGPASS": true, "CLUSTERDOWN": true, "ERR": true, "NEWCODE": true,
			"WRONGTYPE": false, "NOPERM": false, "CROSSSLOT": false, "TRYAGAIN": false,
			"GONE": false, "NOLOCK": false, "BADCLOCK": false, "BADTOKEN": false, "FOREIGN": false,
		} {
			begin("")
			if err := ask(); err != nil {
				t.Fatalf("before %s: %v", code, err)
			}
			begin(code)
			if err := ask(); err == nil {
				t.Errorf("%s is not said on the connection that exists", code)
			}
			if err := ask(); (err == nil) != leaves {
				t.Errorf("%s afterwards: %v", code, err)
			}
			time.Sleep(time.Second)
		}
	})
}

// While a server refuses all requests, it gets a new connection every tenth of a
// second, and not with each request.
func TestLeaveSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		client := redistest.VirtualClient(t, m)
		bg := background.New()
		defer bg.End(time.Second)
		s := rediskit.NewServer("test", client, bg, time.Second)
		m.Server().SetPreHook(func(c *server.Peer, name string, _ ...string) bool {
			if name == "EVAL" {
				c.WriteError("OOM command not allowed")
			}
			return name == "EVAL"
		})
		before := client.PoolStats().Misses
		for range 1000 {
			err := client.Process(t.Context(), rediskit.NewCmd(t.Context(), "eval", "return 1", 1, "key"))
			s.Leave(client, "key", err)
			time.Sleep(time.Millisecond)
		}
		if n := client.PoolStats().Misses - before; n < 5 || n > 12 {
			t.Errorf("%d connections in a second", n)
		}
	})
}
