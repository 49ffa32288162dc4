package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Locks work at the speed of the quorum while a minority hangs, from the first
// operation on: an operation does not wait for a node that does not answer.
//
// Row 23 (redlock): locks work at the speed of the quorum. Fails if an attempt waits
// for the answers of all nodes.
func TestMinorityHangs(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]redlock.Option{"plain": nil, "tokens": {redlock.WithTokens()}} {
		t.Run(name, func(t *testing.T) {
			f := realFleet(t, 5)
			const limit = 6 * time.Second
			b := newBackend(t, f.clients(), append(opts, redlock.WithNodeTimeout(limit))...)
			f.warm(t, b)
			f.servers[1].Stop()
			f.servers[3].Stop()
			for i := range 30 {
				r := request()
				start := time.Now()
				g := acquire(t, b, r)
				if got := status(t, b, g); got != driver.Renewed {
					t.Fatalf("round %d: %v", i, got)
				}
				if _, err := b.TryAcquire(t.Context(), request()); err == nil {
					t.Fatal("two have it")
				} else {
					mustBeHeld(t, err)
				}
				release(t, b, g)
				if d := time.Since(start); d > limit/2 {
					t.Errorf("round %d took %v, and a hung node is given %v", i, d, limit)
				}
			}
			f.servers[1].Cont()
			f.servers[3].Cont()
			quiet(t, b)
			f.allFree(t)
			f.everywhere(t, b, request())
		})
	}
}

// With too few nodes every attempt fails, in bounded time, and nothing is left when the
// nodes return.
//
// Row 23 (redlock): without a quorum no lock is granted, and nothing is left. Fails if
// two of five nodes are enough.
func TestMajorityHangs(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	f := realFleet(t, 5)
	const limit = time.Second
	b := newBackend(t, f.clients(), redlock.WithNodeTimeout(limit))
	f.warm(t, b)
	for _, i := range []int{0, 2, 4} {
		f.servers[i].Stop()
	}
	r := request()
	for range 3 * redlock.SilentAfter { // the first attempts wait for each node, later ones do not
		start := time.Now()
		_, err := b.TryAcquire(t.Context(), r)
		mustFail(t, err)
		if d := time.Since(start); d > limit+5*time.Second {
			t.Errorf("it took %v", d)
		}
	}
	got := driver.RenewAll(t.Context(), b, []driver.Grant{r.Grant()})
	if got[0].Status == driver.Renewed {
		t.Errorf("renewal: %+v", got[0])
	}
	testkit.Eventually(t, "the others are free", func() bool {
		return f.admins[1].Exists(t.Context(), lockKey).Val()+f.admins[3].Exists(t.Context(), lockKey).Val() == 0
	})
	err := b.Release(t.Context(), r.Grant())
	if err == nil || errors.Is(err, driver.ErrLost) {
		t.Errorf("release: %v", err)
	}
	for _, i := range []int{0, 2, 4} {
		f.servers[i].Cont()
	}
	quiet(t, b)
	f.allFree(t)
	f.everywhere(t, b, request())
}

// A renewal without the answer of a majority has an unknown outcome, and one that a
// majority denies is a loss.
func TestRenewWithoutQuorum(t *testing.T) {
	f := realFleet(t, 5)
	b := newBackend(t, f.clients(), redlock.WithNodeTimeout(time.Second))
	g := f.everywhere(t, b, request())
	for _, i := range []int{0, 2, 4} {
		f.servers[i].Stop()
	}
	got := driver.RenewAll(t.Context(), b, []driver.Grant{g})
	if got[0].Status != driver.Unknown || got[0].Err == nil || errors.Is(got[0].Err, context.DeadlineExceeded) {
		t.Errorf("renewal: %+v", got[0])
	}
	for _, i := range []int{0, 2, 4} {
		f.servers[i].Cont()
	}
	testkit.Eventually(t, "it is renewed again", func() bool { return status(t, b, g) == driver.Renewed })
	// Otherwise a late node gets back the key that it is about to lose.
	testkit.Eventually(t, "nothing is under way", func() bool { return b.Owners() == 0 })
	f.del(t, lockKey, 0, 2, 4)
	if got := status(t, b, g); got != driver.Lost {
		t.Errorf("deleted on three: %v", got)
	}
	if n := f.have(lockKey, g.Owner); n != 2 {
		t.Errorf("a lost lock is on %d nodes", n)
	}
	if err := b.Release(t.Context(), g); err != nil {
		t.Errorf("release of what nobody has, without tokens: %v", err)
	}
	f.allFree(t)
}

// spoilt returns a Backend with a network for each node.
func spoilt(t *testing.T, f *fleet, limit time.Duration, opts ...redlock.Option) (*redlock.Backend, []*spoilnet.Network) {
	t.Helper()
	var networks []*spoilnet.Network
	var cs []redis.UniversalClient
	for i := range f.admins {
		n := spoilnet.To(f.dial(i))
		networks = append(networks, n)
		cs = append(cs, f.client(i, func(o *redis.Options) { o.Dialer = n.DialContext }))
	}
	return newBackend(t, cs, append(opts, redlock.WithNodeTimeout(limit))...), networks
}
