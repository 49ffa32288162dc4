package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// breakAll breaks the connections that hold something back, when each network has one.
func breakAll(t *testing.T, networks []*spoilnet.Network, kept func(*spoilnet.Network) int) {
	t.Helper()
	for _, n := range networks {
		testkit.Eventually(t, "something is kept back", func() bool { return kept(n) == 1 })
	}
	for _, n := range networks {
		n.Break()
	}
}

// All connections break before the attempt has arrived. It is repeated, and another
// owner has the key. What was sent first arrives when the key is free: the nodes refuse
// it, because nobody would release the key.
func TestVirtualRepeatedAttemptArrivesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b, networks := spoilt(t, f, 10*time.Second)
		f.warm(t, b)

		f.put(t, "another", time.Minute, upTo(3)...)
		for _, n := range networks {
			n.At(spoilnet.Hold, callOf(redlock.AcquireHash))
		}
		result := make(chan error, 1)
		go func() {
			_, err := b.TryAcquire(t.Context(), request())
			result <- err
		}()
		breakAll(t, networks, (*spoilnet.Network).Held)
		mustBeHeld(t, <-result)
		quiet(t, b)
		f.del(t, lockKey, upTo(3)...)
		for _, n := range networks {
			deliver(t, n)
		}
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request())) // it arrives after them
		f.settled(t, b)
	})
}

// The holder attempts again, and a majority does not answer. That takes nothing back on
// the node that had the lock already.
func TestVirtualFailedAttemptOfTheHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b, networks := spoilt(t, f, time.Second)
		r := request()
		f.everywhere(t, b, r)
		quiet(t, b)
		for _, n := range networks[1:] {
			n.Hang(true)
		}
		mustFail(t, testkit.ErrorOf(b.TryAcquire(t.Context(), r)))
		time.Sleep(5 * time.Second)
		if owner := f.owners(lockKey)[0]; owner != r.Owner {
			t.Errorf("the node that answers has the lock for %q", owner)
		}
	})
}

// A release is applied everywhere, and its replies are lost with their connections.
// Before it is repeated, another owner has acquired the lock, and perhaps released it.
// This is not a loss.
func TestVirtualRepeatedReleaseIsNoLoss(t *testing.T) {
	for name, released := range map[string]bool{"held again": false, "released again": true} {
		testkit.InBubble(t, name, func(t *testing.T) {
			f := virtualFleet(t, 3)
			b, networks := spoilt(t, f, 10*time.Second, redlock.Config{Tokens: true})
			f.warm(t, b)
			g := f.everywhere(t, b, request())
			for _, n := range networks {
				n.At(spoilnet.Deafen, callOf(redlock.ReleaseHash))
			}
			result := make(chan error, 1)
			go func() { result <- b.Release(t.Context(), g) }()
			f.allFree(t)
			other := f.backend(t, redlock.Config{Tokens: true})
			next := f.everywhere(t, other, request())
			if released {
				testkit.MustRelease(t, other, next)
				f.allFree(t)
			}
			breakAll(t, networks, (*spoilnet.Network).Deaf)
			if err := <-result; err != nil {
				t.Error(err)
			}
		})
	}
}

// The application has all connections of its clients in use. Leases are renewed and
// released all the same.
func TestApplicationUsesUpItsConnections(t *testing.T) {
	t.Parallel()
	f := realFleet(t, 3)
	var clients []redis.UniversalClient
	for _, s := range f.servers {
		clients = append(clients, s.Client(t, func(o *redis.Options) { o.PoolSize, o.PipelinePoolSize = 2, -1 }))
	}
	b := newBackend(t, clients, redlock.Config{NodeTimeout: 3 * time.Second})
	g := f.everywhere(t, b, request())
	for _, c := range clients {
		redistest.UseUp(t, c.(*redis.Client))
	}
	testkit.MustRenew(t, b, g)
	testkit.MustRelease(t, b, g)
	f.settled(t, b)
}
