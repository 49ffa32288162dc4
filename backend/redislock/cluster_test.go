package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
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
	t.Logf("%d served", l.reg.Uses())
	nothingLeft(t, c.Masters...)
}

// movable returns a Cluster of two masters, a Backend, the slot of lockKey, its master
// and the other one.
func movable(t *testing.T) (c *redistest.Cluster, b *redislock.Backend, slot int, from, to *redistest.Server) {
	t.Helper()
	testmode.Long(t)
	t.Parallel()
	c = &redistest.Cluster{Masters: redistest.StartCluster(t, 2)}
	b = newBackend(t, redistest.ClusterClient(t, c.Masters), redislock.Config{OpTimeout: 15 * time.Second})
	from, to = c.Masters[0], c.Masters[1]
	if slot = c.Slot(t, lockKey); slot >= 16384/2 {
		from, to = to, from
	}
	return c, b, slot, from, to
}

// The operation timeout is longer than go-redis tries: a release must not fail because
// a slot moves.
//
// Row 18 (redislock): calls outlast TRYAGAIN. Fails if a command that a Cluster refuses
// temporarily is not sent again.
func TestRefusedForTheMoment(t *testing.T) {
	c, b, slot, from, to := movable(t)
	refusals := func() int { return from.ErrorStat(t, "TRYAGAIN") + to.ErrorStat(t, "TRYAGAIN") }
	var g driver.Grant
	for _, call := range []func() error{
		func() (err error) { g, err = b.TryAcquire(t.Context(), request(lockKey)); return err },
		func() error { return b.Release(t.Context(), g) },
	} {
		done := make(chan error, 1)
		moves := 0
		c.MoveSlot(t, slot, from, to, func() {
			if moves++; moves > 1 {
				return
			}
			before := refusals()
			go func() { done <- call() }()
			testkit.Eventually(t, "it was refused often", func() bool { return refusals() >= before+8 })
		})
		noError(t, <-done)
		from, to = to, from
	}
	if n := b.InDoubt(); n != 0 {
		t.Errorf("%d owners in doubt", n)
	}
	nothingLeft(t, c.Masters...)
}

// Two servers redirect to each other, for longer than go-redis follows them, as at the
// end of a slot's move that only one of them has seen.
//
// Row 18 (redislock): calls outlast servers that redirect to each other. Fails if MOVED
// is not sent again.
func TestNamingEachOther(t *testing.T) {
	_, b, slot, from, to := movable(t)
	owner := to.Client(t).Do(t.Context(), "cluster", "myid").Val()
	hand := func(at *redistest.Server) {
		t.Helper()
		noError(t, at.Client(t).Do(t.Context(), "cluster", "setslot", slot, "node", owner).Err())
	}
	hand(from)
	got := make(chan error, 1)
	go func() {
		g, err := b.TryAcquire(t.Context(), request(lockKey))
		if err == nil {
			err = b.Release(t.Context(), g)
		}
		got <- err
	}()
	testkit.Eventually(t, "they name each other", func() bool { return to.ErrorStat(t, "MOVED") >= 8 })
	hand(to)
	noError(t, <-got)
}
