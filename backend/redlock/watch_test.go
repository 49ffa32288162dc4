package redlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// channel is that of the messages about the key.
const channel = "distlock:redlock:free:" + lockKey

// took empties a channel of Wake, and reports whether it had a value.
func took(up <-chan driver.Grant) bool {
	select {
	case <-up:
		return true
	default:
		return false
	}
}

// watched returns a watch that has begun.
func watched(t *testing.T, b *redlock.Backend) <-chan driver.Grant {
	t.Helper()
	up := b.Turn(t.Context(), driver.Request{Key: lockKey})
	select {
	case <-up:
	case <-time.After(40 * time.Second):
		t.Fatal("the watch has not begun")
	}
	return up
}

// tell publishes the message of a release on nodes.
func (f *fleet) tell(t *testing.T, owner string, nodes ...int) {
	t.Helper()
	for _, i := range nodes {
		if n, err := f.admins[i].Publish(t.Context(), channel, owner).Result(); n != 1 || err != nil {
			t.Fatalf("node %d: %d, %v", i, n, err)
		}
	}
}

// A waiter wakes when a quorum of nodes has told of one release, and once: neither a
// minority nor the messages of slower nodes wake it, nor one message each about several
// releases.
func TestVirtualQuorumOfMessagesWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 5)
		b := f.backend(t)
		up := watched(t, b)
		synctest.Wait()
		if took(up) {
			t.Error("the nodes beyond a quorum have woken it")
		}
		for i, c := range []struct {
			owner string
			nodes []int
			wakes bool
		}{
			{"a", []int{0, 1}, false},
			{"b", []int{2}, false},
			{"c", []int{3, 4}, false},
			{"a", []int{4}, true},
			{"a", []int{2, 3}, false},
			{"b", []int{0, 1}, true},
			{"d", []int{0, 1, 2, 3, 4}, true},
			{"e", []int{0, 0, 1}, false}, // sent twice to node 0
			{"e", []int{2}, true},
		} {
			f.tell(t, c.owner, c.nodes...)
			synctest.Wait()
			if woken := took(up); woken != c.wakes {
				t.Errorf("%d: %s on %v: woken %t, want %t", i, c.owner, c.nodes, woken, c.wakes)
			}
		}
	})
}

// A release by the holder tells each node. What the failed attempts of one owner have
// acquired is given back without a message: the key was not free, and is not free by
// that.
func TestVirtualFailedAttemptsWakeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b, other := f.backend(t), f.backend(t)
		up := watched(t, b)
		ctx, cancel := context.WithCancel(t.Context())
		b.Turn(ctx, driver.Request{Key: lockKey + "2"})
		synctest.Wait()
		took(up)
		listen := func() int64 { return f.admins[0].Publish(t.Context(), channel+"2", "x").Val() }
		before := listen()
		cancel()
		time.Sleep(2 * rediskit.PingEvery)
		if after := listen(); before != 1 || after != 0 {
			t.Errorf("%d listen to another key, and %d when its watch is over", before, after)
		}
		f.put(t, "x", time.Hour, 0, 1)
		r := request()
		for range 3 {
			_, err := other.TryAcquire(t.Context(), r) // gets node 2, and gives it back
			mustBeHeld(t, err)
		}
		synctest.Wait()
		if took(up) {
			t.Error("a failed attempt has woken the waiter")
		}
		f.del(t, lockKey, 0, 1)
		testkit.MustRelease(t, other, testkit.MustTry(t, other, request()))
		synctest.Wait()
		if !took(up) {
			t.Error("a release has not woken the waiter")
		}
	})
}

// If several owners share the nodes, perhaps none of them gets the key, and it is not
// released. A few more attempts are made then, and none if the key has a holder.
func TestVirtualSharedNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 5)
		clients := f.clients()
		attempts, releases := 0, 0
		clients[0].(*redis.Client).AddHook(onScript(func(hash string, _ int) {
			switch hash {
			case redlock.AcquireHash:
				attempts++
			case redlock.ReleaseHash:
				releases++
			}
		}))
		b := newBackend(t, plainly(clients), redlock.Config{NodeTimeout: 3 * time.Second})
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request()))
		try := func(want int) {
			t.Helper()
			synctest.Wait() // a release ends when most nodes have answered
			attempts, releases = 0, 0
			start := time.Now()
			mustBeHeld(t, testkit.ErrorOf(b.TryAcquire(t.Context(), request())))
			synctest.Wait()
			if d := time.Since(start); attempts != want || releases > 0 || d > time.Second {
				t.Errorf("%d attempts in %v, want %d, and %d releases", attempts, d, want, releases)
			}
		}
		f.put(t, "x", time.Hour, 0, 1)
		f.put(t, "y", time.Hour, 2, 3)
		try(redlock.MaxTries)
		f.put(t, "x", time.Hour, 2, 3) // a quorum has one holder, whichever nodes answer first
		try(1)
		f.del(t, lockKey, 2, 3)
		_ = clients[3].Close() // x may have it there, and an attempt that waits for a node takes long
		try(1)
	})
}

// subscribed waits until each node has a subscription for the messages about the key.
func (f *fleet) subscribed(t *testing.T) {
	t.Helper()
	for _, c := range f.admins {
		testkit.Eventually(t, "a node has a subscription", func() bool {
			n, err := c.PubSubNumSub(t.Context(), channel).Result()
			return err == nil && n[channel] == 1
		})
	}
}

// A minority that is down or hangs does not matter, and neither does a node that comes
// back. A watch that was interrupted begins again: messages may have been missed.
func TestWakeSurvivesNodes(t *testing.T) {
	t.Parallel()
	f := realFleet(t, 5)
	b, other := f.backend(t), f.backend(t)
	f.warm(t, other)
	up := watched(t, b)
	turn := func(what string) {
		t.Helper()
		g := testkit.MustTry(t, other, request())
		took(up) // of what was before
		testkit.MustRelease(t, other, g)
		testkit.Eventually(t, what, func() bool { return took(up) })
	}
	turn("the waiter wakes")
	f.subscribed(t) // a node that begins late does not begin again
	f.servers[0].Kill()
	f.servers[1].Stop()
	turn("the waiter wakes without a minority")
	f.servers[0].Restart()
	f.servers[1].Cont()
	testkit.Eventually(t, "the watch begins again", func() bool { return took(up) })
	quiet(t, other)
}
