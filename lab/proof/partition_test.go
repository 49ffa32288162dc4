package proof_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// partitions are the kinds of partitions between a process and its store.
var partitions = map[string]func(networks){"both ways": networks.hang, "deaf": networks.deafen}

// The holder is cut off from its store while another process waits. In virtual time the
// moments are exact.
//
// Row 7 (redislock, redlock): the holder is cancelled before another is granted. Fails
// if the holder trusts a lease for half a second longer than it lasts.
func TestPartition(t *testing.T) {
	for _, kind := range []string{"redislock", "redlock"} {
		for name, cut := range partitions {
			t.Run(kind+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					v := startVirtual(t, kind)
					lost, cfg := losses()
					l, ns := v.locker(t, cfg)
					other, _ := v.locker(t, distlock.Config{})
					cutOff(t, l, other, lost, func() { cut(ns) }, 10*time.Second, 7*time.Second)
					heal(t, l, ns)
				})
			})
		}
	}
}

// The same with ZooKeeper and etcd, where a lease is at most half of the session's timeout.
//
// Row 7 (zklock, etcdlock): the holder is cancelled before another is granted. Fails if
// leases are not limited to half of the session's timeout.
func TestPartitionOfSession(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	for _, kind := range []string{"zklock", "etcdlock"} {
		for name, cut := range partitions {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := starts[kind](t)
				const lease = 4 * time.Second
				cutStore := store{address: s.dying(lease)}
				n := new(spoilnet.Network)
				lost, cfg := losses()
				l := testkit.NewLocker(t, cutStore.open(t, n), cfg)
				cutOff(t, l, s.locker(t), lost, func() { cut(networks{n}) }, time.Minute, lease)
				heal(t, l, networks{n})
				s.mustBeEmpty(t)
			})
		}
	}
}

// losses returns a configuration, and a channel that gets the time when the Lost hook
// was called. That is not before the context of the lease was cancelled.
func losses() (<-chan time.Time, distlock.Config) {
	at := make(chan time.Time, 1)
	return at, distlock.Config{Hooks: distlock.Hooks{Event: testkit.On{distlock.Lost: func(context.Context, distlock.Event) { at <- time.Now() }}.Event}}
}

// cutOff cuts l off after it has held the key for a while, and other waits for the key.
// The context of the lease must end before other has the key.
func cutOff(
	t *testing.T, l, other *distlock.Locker, lost <-chan time.Time, cut func(), lease, while time.Duration,
) {
	t.Helper()
	stalls := watchStalls(t)
	held := testkit.MustAcquire(t, l, key, distlock.Opts{KeyTimeout: lease})
	next := testkit.StartAcquire(t, other, key, distlock.Opts{KeyTimeout: lease})
	time.Sleep(while)
	if err := held.Check(); err != nil {
		t.Fatalf("it was not renewed: %v", err)
	}
	cut()
	begun := time.Now()
	after := next.Served(t)
	if held.Check() == nil {
		t.Fatal("another has the key, and the lease is valid")
	}
	await(t, "the holder is told", held.Context().Done()) // possibly late: the times are compared below
	cancelled := <-lost
	t.Logf("cancelled %v and granted %v after the cut", cancelled.Sub(begun), next.At.Sub(begun))
	switch late := cancelled.Sub(held.Until()); {
	case next.At.After(cancelled):
	case stalls.excuse(late):
		t.Logf("this process stood still: the holder was told %v late", late)
	default:
		t.Errorf("another had the key %v before the holder was told", cancelled.Sub(next.At))
	}
	wantKinds(t, "the cause", context.Cause(held.Context()), "lost")
	if after.Token() <= held.Token() {
		t.Errorf("token %d after token %d", after.Token(), held.Token())
	}
	// A release of the lost lease, or a late request, must not affect the next holder.
	if err := held.Release(context.Background()); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("Release of the lost lease: %v", err)
	}
	if err := after.Refresh(context.Background()); err != nil {
		t.Errorf("the next holder: %v", err)
	}
	mustRelease(t, after)
}

// heal repairs the network. The process that was cut off can lock again.
func heal(t *testing.T, l *distlock.Locker, ns networks) {
	t.Helper()
	ns.heal()
	mustRelease(t, testkit.MustAcquire(t, l, key, distlock.Opts{}))
}
