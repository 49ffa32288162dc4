package proof_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// virtual has simulated servers in the bubble that starts it. Time is exact there.
type virtual struct {
	kind    string
	servers []*miniredis.Miniredis
}

func startVirtual(t *testing.T, kind string) *virtual {
	t.Helper()
	servers := map[string]int{"redislock": 1, "redlock": 3}[kind]
	v := &virtual{kind: kind}
	for range servers {
		v.servers = append(v.servers, redistest.Virtual(t))
	}
	return v
}

// networks are the networks between one process and the servers.
type networks []*spoilnet.Network

// hang loses all requests and replies.
func (ns networks) hang() {
	for _, n := range ns {
		n.Hang(true)
	}
}

// deafen loses the replies.
func (ns networks) deafen() {
	for _, n := range ns {
		n.Refuse(true)
		n.Deafen()
	}
}

// heal lets new connections through and closes the old ones.
func (ns networks) heal() {
	for _, n := range ns {
		n.Hang(false)
		n.Refuse(false)
		n.Kill()
	}
}

// locker returns a Locker with connections of its own, and its networks.
func (v *virtual) locker(t *testing.T, cfg distlock.Config) (*distlock.Locker, networks) {
	t.Helper()
	var ns networks
	var clients []redis.UniversalClient
	for _, m := range v.servers {
		n := spoilnet.To(m.Dial)
		ns = append(ns, n)
		clients = append(clients, redistest.VirtualClient(t, m, func(o *redis.Options) { o.Dialer = n.DialContext }))
	}
	var b driver.Backend
	if v.kind == "redlock" {
		b = newRedlock(clients)
	} else {
		b = redislock.New(clients[0], redislock.Config{})
	}
	return testkit.NewLocker(t, b, cfg), ns
}

// runClocks returns a function that sets the clocks of the servers to the true time plus d.
func (v *virtual) runClocks() (set func(d time.Duration)) {
	var offset atomic.Int64
	for _, m := range v.servers {
		redistest.SetClock(m, func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
	}
	return func(d time.Duration) { offset.Store(int64(d)) }
}
