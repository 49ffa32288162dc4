package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

func loadKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("all:", i)
	}
	return keys
}

func clusterLoad(t *testing.T, c *redistest.Cluster, keys []string) *load {
	t.Helper()
	return newLoad(t, keys, redistest.ClusterClient(t, c.Servers()), redistest.ClusterClient(t, c.Servers()), redistest.ClusterClient(t, c.Servers()))
}

// left returns the keys of the servers, without clocks and tombstones.
func left(servers ...*redistest.Server) (keys []string) {
	for _, s := range servers {
		c := redis.NewClient(&redis.Options{Addr: s.Addr()})
		for _, k := range c.Keys(context.Background(), "*").Val() {
			if !strings.HasPrefix(k, clockKey) && !strings.HasSuffix(k, "}:gone") {
				keys = append(keys, k)
			}
		}
		_ = c.Close()
	}
	return keys
}

func nothingLeft(t *testing.T, servers ...*redistest.Server) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("no lock and no queue is left, and not %q", left(servers...)), func() bool { return len(left(servers...)) == 0 })
}

// Slots move back and forth under load, and stay half-way until the load has met every
// kind of reply: callers only notice a delay.
//
// Row 18 (redislock): MOVED, ASK and TRYAGAIN are followed or repeated, all waiters are
// served, tokens rise. Fails if the companions of a lock are in other slots.
func TestSlotsMove(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	c := &redistest.Cluster{Masters: redistest.StartCluster(t, 3)}
	l := clusterLoad(t, c, loadKeys(24))
	owner := make(map[int]*redistest.Server)
	var slots []int
	for _, key := range l.keys[:3] {
		slot := c.Slot(t, key)
		slots = append(slots, slot)
		for i, m := range c.Masters {
			if slot >= i*16384/3 && slot < (i+1)*16384/3 {
				owner[slot] = m
			}
		}
	}
	l.start(6, 2)
	l.goOn(200)
	for round := range 2 {
		for i, slot := range slots {
			from := owner[slot]
			to := c.Masters[(i+round)%3]
			if to == from {
				to = c.Masters[(i+round+1)%3]
			}
			asked := from.ErrorStat(t, "ASK")
			c.MoveSlot(t, slot, from, to, func() {
				again := func() int { return from.ErrorStat(t, "TRYAGAIN") + to.ErrorStat(t, "TRYAGAIN") }
				before := again()
				testkit.Eventually(t, "clients are told to come again", func() bool { return again() > before })
			})
			if from.ErrorStat(t, "ASK") == asked {
				t.Error("nobody was sent on")
			}
			owner[slot] = to
			l.goOn(50)
		}
	}
	l.stop()
	t.Logf("%d served, told %v", l.reg.Uses(), l.errors)
	nothingLeft(t, c.Masters...)
}

// keysOn returns n keys of each master.
func keysOn(t *testing.T, c *redistest.Cluster, n int) map[*redistest.Server][]string {
	t.Helper()
	on := make(map[*redistest.Server][]string)
	for i := 0; len(on[c.Masters[0]]) < n || len(on[c.Masters[1]]) < n || len(on[c.Masters[2]]) < n; i++ {
		key := fmt.Sprint("on:", i)
		m := c.Masters[min(c.Slot(t, key)*3/16384, 2)]
		if len(on[m]) < n {
			on[m] = append(on[m], key)
		}
	}
	return on
}
