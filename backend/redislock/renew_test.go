package redislock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// hold acquires n keys, with leases longer than a slow machine needs for that.
func hold(t testing.TB, b *redislock.Backend, n int) []driver.Grant {
	t.Helper()
	grants := make([]driver.Grant, n)
	for i := range grants {
		r := request(fmt.Sprint("k", i))
		r.TTL = time.Minute
		g, err := b.TryAcquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		grants[i] = g
	}
	return grants
}

func renewed(t testing.TB, got []driver.RenewResult, want func(i int) driver.RenewStatus) {
	t.Helper()
	for i, r := range got {
		if r.Status != want(i) || (r.Status == driver.Unknown) != (r.Err != nil) {
			t.Fatalf("number %d: %v, %v instead of %v", i, r.Status, r.Err, want(i))
		}
	}
}

func all(s driver.RenewStatus) func(int) driver.RenewStatus {
	return func(int) driver.RenewStatus { return s }
}

func TestRenewBatches(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	b := newBackend(t, s.Client)
	grants := hold(t, b, 600)
	s.Set(t.Context(), "k7", "another", time.Minute)
	s.Del(t.Context(), "k300")
	grants[400].TTL = 500 * time.Microsecond // would delete the key
	want := func(i int) driver.RenewStatus {
		switch i {
		case 7, 300:
			return driver.Lost
		case 400:
			return driver.Unknown
		default:
			return driver.Renewed
		}
	}
	before := s.commandCalls(t, "evalsha")
	renewed(t, driver.RenewAll(t.Context(), b, grants), want)
	if n := s.commandCalls(t, "evalsha") - before; n != 3 {
		t.Errorf("%d scripts for 600 renewals", n)
	}
	if n := s.Exists(t.Context(), "k300", "k400").Val(); n != 1 {
		t.Errorf("of a lost and a held key %d exist", n)
	}
	if got := driver.RenewAll(t.Context(), b, nil); len(got) != 0 {
		t.Errorf("%d results for none", len(got))
	}
}

// Scripts may vanish at any time.
func TestScriptFlush(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		for range 20 {
			s.ScriptFlush(t.Context())
			g, err := b.TryAcquire(t.Context(), request("k"))
			if err != nil {
				t.Fatal(err)
			}
			s.ScriptFlush(t.Context())
			renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{g}), all(driver.Renewed))
			s.ScriptFlush(t.Context())
			if err := b.Release(t.Context(), g); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A plain client may be connected to a Cluster, which refuses scripts over many slots.
func TestRenewCrossSlot(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	nodes := redistest.StartCluster(t, 1)
	b := newBackend(t, nodes[0].Client(t))
	grants := hold(t, b, 20)
	for range 2 {
		renewed(t, driver.RenewAll(t.Context(), b, grants), all(driver.Renewed))
	}
}

func TestCluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	const limit = 2 * time.Second
	b := newBackend(t, redistest.ClusterClient(t, nodes), redislock.WithOpTimeout(limit))
	peer := newBackend(t, redistest.ClusterClient(t, nodes))
	grants := hold(t, peer, 60)
	at := make([]*redistest.Server, len(grants))
	per := make(map[*redistest.Server]int)
	for i, g := range grants {
		for _, n := range nodes {
			if n.Client(t).Exists(t.Context(), g.Key).Val() == 1 {
				at[i] = n
				per[n]++
			}
		}
	}
	if len(per) != 3 {
		t.Fatalf("the keys are on %d nodes", len(per))
	}

	t.Run("renew", func(t *testing.T) {
		renewed(t, driver.RenewAll(t.Context(), b, grants), all(driver.Renewed))
		// One node has forgotten the script.
		nodes[1].Client(t).ScriptFlush(t.Context())
		renewed(t, driver.RenewAll(t.Context(), b, grants), all(driver.Renewed))
	})

	t.Run("queue", func(t *testing.T) {
		// On every node, independent of the inbox.
		for i := range 6 {
			key := fmt.Sprint("queue", i)
			g, err := b.TryAcquire(t.Context(), request(key))
			if err != nil {
				t.Fatal(err)
			}
			r := request(key)
			r.Backoff = driver.NewBackoff(time.Hour, 0)
			w := acquire(t.Context(), peer, r)
			testkit.Eventually(t, "it waits", func() bool { return peer.Waiters() == 1 })
			if err := b.Release(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			<-w.done
			if w.err != nil {
				t.Fatal(w.err)
			}
			if err := peer.Release(t.Context(), w.grant); err != nil {
				t.Fatal(err)
			}
		}
	})

	t.Run("hung node", func(t *testing.T) {
		nodes[2].Stop()
		defer nodes[2].Cont()
		start := time.Now()
		renewed(t, driver.RenewAll(t.Context(), b, grants), func(i int) driver.RenewStatus {
			if at[i] == nodes[2] {
				return driver.Unknown
			}
			return driver.Renewed
		})
		if d := time.Since(start); d > limit+5*time.Second {
			t.Errorf("it took %v", d)
		}
		for i, g := range grants {
			if at[i] == nodes[0] {
				if err := b.Release(t.Context(), g); err != nil {
					t.Errorf("release on a healthy node: %v", err)
				}
			}
		}
	})
}

// A Ring has no common channels, so its waiters poll.
func TestRing(t *testing.T) {
	t.Parallel()
	s1, s2 := redistest.Start(t), redistest.Start(t)
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"1": s1.Addr(), "2": s2.Addr()}})
	t.Cleanup(func() { _ = ring.Close() })
	b := newBackend(t, ring)
	grants := hold(t, b, 20)
	renewed(t, driver.RenewAll(t.Context(), b, grants), all(driver.Renewed))

	r := request(grants[0].Key)
	r.Backoff = driver.NewBackoff(50*time.Millisecond, 0)
	w := acquire(t.Context(), b, r)
	testkit.Eventually(t, "it waits", func() bool { return b.Waiters() == 1 })
	for _, g := range grants {
		if err := b.Release(t.Context(), g); err != nil {
			t.Error(err)
		}
	}
	<-w.done
	if w.err != nil {
		t.Error(w.err)
	}
}

// wrapped hides the type of the client, so it gets pipelines.
type wrapped struct{ redis.UniversalClient }

func TestRenewThroughAWrapper(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	b := newBackend(t, wrapped{s.Client})
	grants := hold(t, b, 300)
	s.Del(t.Context(), "k7")
	s.ScriptFlush(t.Context())
	renewed(t, driver.RenewAll(t.Context(), b, grants), func(i int) driver.RenewStatus {
		if i == 7 {
			return driver.Lost
		}
		return driver.Renewed
	})
}

func TestRenewStopsAtTheFirstFailure(t *testing.T) {
	s := realServer(t)
	b := newBackend(t, s.Client, redislock.WithOpTimeout(100*time.Millisecond))
	grants := hold(t, newBackend(t, s.Client), 1000)
	s.real.Stop()
	start := time.Now()
	got := driver.RenewAll(t.Context(), b, grants)
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
	for i, r := range got {
		if r.Status != driver.Unknown || r.Err == nil {
			t.Fatalf("number %d: %v, %v", i, r.Status, r.Err)
		}
	}
	if errors.Is(got[0].Err, got[999].Err) || !errors.Is(got[999].Err, got[0].Err) {
		t.Errorf("the first: %v; the last: %v", got[0].Err, got[999].Err)
	}
	s.real.Cont()
	testkit.Eventually(t, "it renews again", func() bool {
		return driver.RenewAll(t.Context(), b, grants)[999].Status == driver.Renewed
	})
}
