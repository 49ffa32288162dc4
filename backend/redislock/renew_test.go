package redislock_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// hold acquires n keys in all modes, with leases longer than a slow machine needs for that.
func hold(t testing.TB, b *redislock.Backend, n int) []driver.Grant {
	t.Helper()
	kinds := []func(key string) driver.Request{modes["exclusive"], modes["shared"], modes["permits"]}
	grants := make([]driver.Grant, n)
	for i := range grants {
		r := kinds[i%3](fmt.Sprint("k", i))
		r.TTL = time.Minute
		grants[i] = mustTry(t, b, r)
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

// One call renews many leases of all kinds, in few scripts. What is lost is told of that lease
// alone, also if the servers have forgotten the script.
func TestRenewBatches(t *testing.T) {
	for name, masters := range map[string]int{
		"one script": 0, "pipelines": 0, "Cluster": 3,
		"plain client of a Cluster": 1, // it refuses scripts over many slots
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var servers []*redistest.Server
			if masters > 0 {
				servers = redistest.StartCluster(t, masters)
			} else {
				servers = append(servers, redistest.Start(t))
			}
			var c redis.UniversalClient = servers[0].Client(t)
			switch name {
			case "pipelines":
				c = wrapped{c}
			case "Cluster":
				c = redistest.ClusterClient(t, servers)
			}
			b := newBackend(t, c)
			grants := hold(t, b, 600)
			for _, i := range []int{7, 300, 596} {
				mustRelease(t, b, grants[i])
			}
			grants[400].TTL = 500 * time.Microsecond // would delete the key
			scripts := func() (n int64) {
				for _, s := range servers {
					n += server{Client: s.Client(t)}.commandCalls(t, "evalsha")
				}
				return n
			}
			for _, s := range servers {
				s.Client(t).ScriptFlush(t.Context())
			}
			for range 2 {
				before := scripts()
				renewed(t, driver.RenewAll(t.Context(), b, grants), func(i int) driver.RenewStatus {
					switch i {
					case 7, 300, 596:
						return driver.Lost
					case 400:
						return driver.Unknown
					default:
						return driver.Renewed
					}
				})
				if n := scripts() - before; name == "one script" && n > 4 { // one may be sent twice
					t.Errorf("%d scripts for 600 renewals", n)
				}
			}
			if c.Exists(t.Context(), grants[400].Key).Val() != 1 {
				t.Error("a lease that was too short has ended the lock")
			}
		})
	}
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
	w := testkit.StartWaiter(t, b, r)
	testkit.Eventually(t, "it waits", func() bool { return b.Waiters() == 1 })
	for _, g := range grants {
		mustRelease(t, b, g)
	}
	w.Served(t)
}

// wrapped hides the type of the client, so it gets pipelines.
type wrapped struct{ redis.UniversalClient }

// Batches behind one that is not answered are not sent.
func TestRenewStopsAtTheFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := overNetwork(t, redistest.Virtual(t))
		b := newBackend(t, c, redislock.WithOpTimeout(100*time.Millisecond))
		grants := hold(t, b, 600)
		n.Hang(true)
		start := time.Now()
		got := driver.RenewAll(t.Context(), b, grants)
		renewed(t, got, all(driver.Unknown))
		if d := time.Since(start); d != 100*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		if errors.Is(got[0].Err, got[599].Err) || !errors.Is(got[599].Err, got[0].Err) {
			t.Errorf("the first: %v; the last: %v", got[0].Err, got[599].Err)
		}
		n.Hang(false)
		n.CloseCut()
		renewed(t, driver.RenewAll(t.Context(), b, grants), all(driver.Renewed))
	})
}
