package locktest_test

import (
	"os"
	"testing"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

func runOnKV(t *testing.T, breaks string) {
	t.Helper()
	servers := make(map[driver.Backend]*kvServer)
	open := func(s *kvServer, n *locktest.Network) driver.Backend {
		b := &kvLock{dial: n.To(s.dial), breaks: breaks}
		servers[b] = s
		return b
	}
	locktest.Run(t, func(*testing.T) driver.Backend { return open(newKVServer(), new(locktest.Network)) }, locktest.Features{
		Bubble: true,
		Drop:   func(_ *testing.T, b driver.Backend, key string) { servers[b].forget(key) },
		Over: func(_ *testing.T, first driver.Backend, n *locktest.Network) driver.Backend {
			return open(servers[first], n)
		},
	})
}

func TestKV(t *testing.T) { runOnKV(t, os.Getenv("KV")) }
