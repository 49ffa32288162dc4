package redlock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/spoilnet"
	"github.com/distlock-go/distlock/internal/testmode"
)

// Locks work at the speed of the quorum while a minority hangs, from the first
// operation on: an operation does not wait for a node that does not answer.
//
// Row 23 (redlock): locks work at the speed of the quorum. Fails if an attempt waits
// for the answers of all nodes.
func TestRow23MinorityHangs(t *testing.T) {
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
func TestRow23MajorityHangs(t *testing.T) {
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
	eventually(t, "the others are free", func() bool {
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

// The error of the Locker is ErrUnavailable, and not ErrNotAcquired.
//
// Row 17 (redlock): ErrUnavailable, with the names of the nodes that are down. Fails if
// a node that does not answer counts as a node where another has the lock.
func TestRow17MajorityDown(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	f := realFleet(t, 5)
	b := f.backend(t)
	l := distlock.New(b, distlock.Config{})
	defer l.Close()
	if err := l.Do(t.Context(), "k", distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	quiet(t, b) // a majority has released the key, and the others may still have it
	for _, i := range []int{0, 2, 4} {
		f.servers[i].Kill()
	}
	_, err := l.TryAcquire(t.Context(), "k", distlock.Opts{KeyTimeout: time.Second})
	if !errors.Is(err, distlock.ErrUnavailable) || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("acquire: %v", err)
	}
	for _, i := range []int{0, 2, 4} {
		if !strings.Contains(err.Error(), f.servers[i].Addr()) {
			t.Errorf("node %d is not named: %v", i, err)
		}
	}
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
	eventually(t, "it is renewed again", func() bool { return status(t, b, g) == driver.Renewed })
	// Otherwise a late node gets back the key that it is about to lose.
	eventually(t, "nothing is under way", func() bool { return b.Owners() == 0 })
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

// The reply of every node is lost after the lock was taken: a repeated attempt does not
// wait for itself, and an abandoned one leaves nothing.
//
// Row 8 (redlock): the owner does not wait for itself, and an abandoned attempt leaves
// nothing. Fails if an owner is refused because of its own lock.
func TestRow08LostReplies(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	for _, tryAgain := range []bool{true, false} {
		t.Run(fmt.Sprintf("try again=%v", tryAgain), func(t *testing.T) {
			f := realFleet(t, 3)
			b, networks := spoilt(t, f, 2*time.Second)
			f.warm(t, b)

			r := request()
			ctx, cancel := context.WithCancel(t.Context())
			for _, n := range networks {
				n.DeafenAt(callOf(redlock.AcquireHash))
			}
			done := make(chan error)
			go func() { _, err := b.TryAcquire(ctx, r); done <- err }()
			eventually(t, "all nodes have it", func() bool { return f.have(lockKey, r.Owner) == 3 })
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("TryAcquire: %v", err)
			}
			if tryAgain {
				g := acquire(t, b, r)
				if got := status(t, b, g); got != driver.Renewed {
					t.Error(got)
				}
				quietly(t, b, g) // the release of the first attempt does not affect the second
				release(t, b, g)
			} else {
				release(t, b, r.Grant())
			}
			quiet(t, b)
			f.allFree(t)
		})
	}
}

// Two nodes lose the replies to an attempt, which is rolled back with a tombstone
// there. When nothing is in flight any more, the owner tries again: the tombstone does
// not refuse it, because a Locker uses one owner for all its attempts.
func TestTriesAgainLater(t *testing.T) {
	f := realFleet(t, 3)
	b, networks := spoilt(t, f, 300*time.Millisecond)
	f.warm(t, b)

	r := request()
	for range 3 {
		for _, n := range networks[:2] {
			n.DeafenAt(callOf(redlock.AcquireHash))
		}
		if _, err := b.TryAcquire(t.Context(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
			t.Errorf("TryAcquire without replies: %v", err)
		}
		quiet(t, b)
		f.allFree(t)
	}
	var g driver.Grant
	eventually(t, "the owner has the free key", func() (ok bool) {
		quiet(t, b)
		time.Sleep(20 * time.Millisecond) // the pause of a Locker
		var err error
		if g, err = b.TryAcquire(t.Context(), r); err != nil {
			t.Logf("TryAcquire of a free key: %v", err)
		}
		return err == nil
	})
	release(t, b, g)
	quiet(t, b)
	f.allFree(t)
	eventually(t, "the owner is forgotten", func() bool { return b.Owners() == 0 })
}

// quietly waits until no release is pending, and checks that the grant is still valid.
func quietly(t *testing.T, b *redlock.Backend, g driver.Grant) {
	t.Helper()
	eventually(t, "no release is pending", func() bool { return b.PendingReleases() == 0 })
	if got := status(t, b, g); got != driver.Renewed {
		t.Errorf("after the pending releases: %v", got)
	}
}

// spoilt returns a Backend with a network for each node.
func spoilt(t *testing.T, f *fleet, limit time.Duration, opts ...redlock.Option) (*redlock.Backend, []*spoilnet.Network) {
	t.Helper()
	var networks []*spoilnet.Network
	var cs []redis.UniversalClient
	for _, s := range f.servers {
		n := spoilnet.TCP(s.Addr())
		networks = append(networks, n)
		cs = append(cs, s.Client(t, func(o *redis.Options) { o.Dialer = n.DialContext }))
	}
	return newBackend(t, cs, append(opts, redlock.WithNodeTimeout(limit))...), networks
}

// An attempt is delayed in the network and arrives after its owner has released: it is
// refused, and another owner can have the key.
func TestOvertakenAttempt(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	f := realFleet(t, 3)
	b, networks := spoilt(t, f, 2*time.Second)
	f.warm(t, b)

	r := request()
	networks[0].HoldAt(callOf(redlock.AcquireHash))
	g := acquire(t, b, r) // a quorum of the other two
	release(t, b, g)
	eventually(t, "the node that did not answer has a tombstone of the owner", func() bool {
		return f.admins[0].Exists(t.Context(), "{"+lockKey+"}:gone:"+r.Owner).Val() == 1
	})
	deliver(t, networks[0])
	// The server handles connections in order of arrival; the next attempt comes after
	// the delayed one.
	next := f.everywhere(t, b, request())
	release(t, b, next)
	quiet(t, b)
	f.allFree(t)
}

// A late node keeps the lock if it was granted, and is free if it was not.
//
// Row 9 (redlock): a late vote is kept if the lock was granted, and released if not.
// Fails if the votes of a failed attempt are not released.
func TestRow09LateNode(t *testing.T) {
	t.Parallel()
	f := realFleet(t, 3)
	b, networks := spoilt(t, f, 2*time.Second)
	f.warm(t, b)

	networks[0].HoldAt(callOf(redlock.AcquireHash))
	g := acquire(t, b, request())
	deliver(t, networks[0])
	eventually(t, "the late node has the lock", func() bool { return f.have(lockKey, g.Owner) == 3 })
	release(t, b, g)
	quiet(t, b)
	f.allFree(t)

	f.put(t, "another", time.Minute, 1, 2)
	networks[0].HoldAt(callOf(redlock.AcquireHash))
	_, err := b.TryAcquire(t.Context(), request())
	mustBeHeld(t, err)
	deliver(t, networks[0])
	quiet(t, b)
	f.del(t, lockKey, 1, 2)
	f.allFree(t)
}

// The rollback of a failed attempt is delayed in the network and arrives when the same
// owner has the lock by its next attempt, which it must not end.
func TestOvertakenTakeBack(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	f := realFleet(t, 3)
	b, networks := spoilt(t, f, 2*time.Second)
	f.warm(t, b)

	f.put(t, "another", time.Minute, 1, 2)
	r := request()
	networks[0].HoldAt(callOf(redlock.ReleaseHash))
	_, err := b.TryAcquire(t.Context(), r)
	mustBeHeld(t, err)
	eventually(t, "it was tried", func() bool { return b.PendingReleases() == 1 })
	quiet(t, b)
	f.del(t, lockKey, 1, 2)
	g := f.everywhere(t, b, r)

	calls := func() string {
		stats := f.admins[0].Info(context.Background(), "commandstats").Val()
		_, stats, _ = strings.Cut(stats, "cmdstat_evalsha:calls=")
		n, _, _ := strings.Cut(stats, ",")
		return n
	}
	before := calls()
	deliver(t, networks[0])
	eventually(t, "it has arrived", func() bool { return calls() != before })
	if n := f.have(lockKey, r.Owner); n != 3 {
		t.Errorf("on %d of 3 nodes", n)
	}
	release(t, b, g)
	f.allFree(t)
}

// deliver sends the delayed data. An owner with a quorum does not wait for it to be
// written.
func deliver(t *testing.T, n *spoilnet.Network) {
	t.Helper()
	eventually(t, "something is kept back", func() bool { return n.Held() == 1 })
	if err := n.Deliver(); err != nil {
		t.Fatal(err)
	}
}

// callOf matches a call of a script, for a network that delays it.
func callOf(sha string) spoilnet.Match {
	return func(written []byte) bool { return bytes.Contains(written, []byte(sha)) }
}
