package torture

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Leases of scaleLease are held for scaleTime.
const (
	scaleLease = 30 * time.Second
	scaleTime  = 2 * time.Minute
)

// TestScale counts what processes send that hold leases, or wait, in virtual time: about what
// the formulas of docs/scale.md say.
func TestScale(t *testing.T) {
	within := func(t *testing.T, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > want/10 {
			t.Errorf("%.2f scripts a second, want about %.2f", got, want)
		}
	}
	for _, c := range []struct {
		processes, held int
		want            float64 // by the formulas
	}{{10, 1, 1.04}, {10, 10, 9.71}, {2, 100, 10.33}, {1, 1000, 6.4}} {
		synctest.Test(t, func(t *testing.T) {
			n := newFleet(t, c.processes)
			for i, l := range n.lockers {
				for k := range c.held {
					testkit.MustAcquire(t, l, fmt.Sprintf("%d:%d", i, k), distlock.Opts{KeyTimeout: scaleLease})
					time.Sleep(scaleLease / 3 / time.Duration(c.held)) // as leases begin that have nothing in common
				}
			}
			scripts := n.count(scaleTime)
			t.Logf("%d processes with %d leases each: %.2f scripts a second, %d connections", c.processes, c.held, scripts, n.connections())
			within(t, scripts, c.want)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		n := newFleet(t, 11)
		testkit.MustAcquire(t, n.lockers[0], "k", distlock.Opts{KeyTimeout: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		for _, l := range n.lockers[1:] {
			for range 100 { // of which one asks the store
				go func() { _, _ = l.Acquire(ctx, "k", distlock.Opts{KeyTimeout: time.Hour}) }()
			}
			time.Sleep(time.Duration(rand.Int64N(int64(time.Second))))
		}
		scripts := n.count(scaleTime)
		t.Logf("10 processes with 100 waiters each: %.2f scripts a second, %d connections", scripts, n.connections())
		within(t, scripts, 10/0.75)
		cancel()
		synctest.Wait()
	})
}

// fleet is some Lockers on a simulated server that counts scripts.
type fleet struct {
	lockers     []*distlock.Locker
	scripts     atomic.Int64
	connections func() int
}

func newFleet(t *testing.T, processes int) *fleet {
	t.Helper()
	m := redistest.Virtual(t)
	n := &fleet{connections: m.CurrentConnectionCount}
	for range processes {
		c := redistest.VirtualClient(t, m, func(o *redis.Options) { o.MaxIdleConns = 1 })
		n.lockers = append(n.lockers, testkit.NewLocker(t, redislock.New(c, redislock.Config{}), distlock.Config{}))
	}
	m.Server().SetPreHook(func(_ *server.Peer, cmd string, _ ...string) bool {
		if strings.HasPrefix(cmd, "EVAL") {
			n.scripts.Add(1)
		}
		return false
	})
	return n
}

// count returns how many scripts a second the server gets, from the next minute on.
func (n *fleet) count(length time.Duration) float64 {
	time.Sleep(time.Minute)
	before := n.scripts.Load()
	time.Sleep(length)
	return float64(n.scripts.Load()-before) / length.Seconds()
}
