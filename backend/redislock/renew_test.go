package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	mini "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// hold acquires n keys in all modes, with leases longer than a slow machine needs for
// that.
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

// renewed checks the results of renewals by their number.
func renewed(t testing.TB, got []error, want func(i int) outcome) {
	t.Helper()
	for i, err := range got {
		if outcomeOf(err) != want(i) {
			t.Fatalf("number %d: %v instead of %v", i, err, want(i))
		}
	}
}

// outcome is what a renewal says.
type outcome string

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return "extended"
	case errors.Is(err, driver.ErrLost):
		return "lost"
	default:
		return "unknown"
	}
}

func all(s outcome) func(int) outcome { return func(int) outcome { return s } }

// One call renews many leases of all kinds, in few scripts. What is lost is told of
// that lease alone, also if the servers have forgotten the script.
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
				renewed(t, driver.RenewAll(t.Context(), b, grants), func(i int) outcome {
					switch i {
					case 7, 300, 596:
						return "lost"
					case 400:
						return "unknown"
					default:
						return "extended"
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
	renewed(t, driver.RenewAll(t.Context(), b, grants), all("extended"))

	w := testkit.StartWaiter(t, b, request(grants[0].Key), testkit.Looks{Every: 50 * time.Millisecond})
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
		b := newBackend(t, c, redislock.Config{OpTimeout: 100 * time.Millisecond})
		grants := hold(t, b, 600)
		n.Hang(true)
		start := time.Now()
		got := driver.RenewAll(t.Context(), b, grants)
		renewed(t, got, all("unknown"))
		if d := time.Since(start); d != 100*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		if errors.Is(got[0], got[599]) || !errors.Is(got[599], got[0]) {
			t.Errorf("the first: %v; the last: %v", got[0], got[599])
		}
		n.Hang(false)
		n.CloseCut()
		renewed(t, driver.RenewAll(t.Context(), b, grants), all("extended"))
	})
}

// holdScripts makes the server carry out no script until open is called. It counts
// those that have come.
func holdScripts(t *testing.T, m *miniredis.Miniredis) (come *atomic.Int32, open func()) {
	t.Helper()
	come = new(atomic.Int32)
	opened := make(chan struct{})
	m.Server().SetPreHook(func(_ *mini.Peer, cmd string, _ ...string) bool {
		if cmd == "EVALSHA" {
			come.Add(1)
			<-opened
		}
		return false
	})
	open = sync.OnceFunc(func() { close(opened) })
	t.Cleanup(open)
	return come, open
}

// While a server does not answer, further renewals wait, and are sent when it answers.
// If their context ends first, the error says that they were not sent.
//
// Row 9 (redislock): at most four renewals for one server are in progress. Fails if
// their number has no bound, or if a renewal that waits is lost.
func TestVirtualRenewalsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		b := newBackend(t, redistest.VirtualClient(t, m), redislock.Config{OpTimeout: 30 * time.Second})
		grants := hold(t, b, 10)
		renewed(t, driver.RenewAll(t.Context(), b, grants), all("extended")) // the server has the script
		come, open := holdScripts(t, m)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var renewals sync.WaitGroup
		renew := func(ctx context.Context, g driver.Grant, check func(error)) {
			renewals.Go(func() { check(driver.RenewAll(ctx, b, []driver.Grant{g})[0]) })
			synctest.Wait()
		}
		for i, g := range grants {
			if i < 7 { // four are sent, three wait
				renew(t.Context(), g, func(r error) {
					if r != nil {
						t.Errorf("%d: %v", i, r)
					}
				})
				continue
			}
			renew(ctx, g, func(r error) { // waits until ctx ends
				if !await.InDoubt(r) {
					t.Errorf("%d: %v", i, r)
				}
				says(t, "one that waits", r, "not sent, because 4 renewals")
			})
		}
		time.Sleep(2 * time.Second)
		if n := come.Load(); n != 4 {
			t.Errorf("%d renewals were sent", n)
		}
		open()
		renewals.Wait()
		if n := come.Load(); n != 7 {
			t.Errorf("%d renewals were sent in the end", n)
		}
	})
}

// A server of a Ring does not answer, whether its renewals are in progress or wait to
// be sent. Locks on the other server take no longer.
//
// Row 9 (redislock): the results of one server are reported as they come. Fails if
// Renew reports at its end, or if the bound of renewals in progress is not for each
// server.
func TestVirtualSilentShardDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const silent = "127.0.0.1:2"
		servers := map[string]*miniredis.Miniredis{"127.0.0.1:1": redistest.Virtual(t), silent: redistest.Virtual(t)}
		ring := redis.NewRing(&redis.RingOptions{
			Addrs:              map[string]string{"1": "127.0.0.1:1", "2": silent}, // never dialled
			HeartbeatFrequency: time.Hour,
			NewClient: func(o *redis.Options) *redis.Client {
				return redistest.VirtualClient(t, servers[o.Addr], func(virtual *redis.Options) { virtual.Addr = o.Addr })
			},
		})
		t.Cleanup(func() { _ = ring.Close() })
		isSilent := func(g driver.Grant) bool { return must(ring.GetShardClientForKey(g.Key)).Options().Addr == silent }
		b := newBackend(t, ring, redislock.Config{OpTimeout: time.Second})
		grants := hold(t, b, 8)
		renewed(t, driver.RenewAll(t.Context(), b, grants), all("extended")) // the servers have the script
		onSilent := slices.DeleteFunc(slices.Clone(grants), func(g driver.Grant) bool { return !isSilent(g) })
		if n := len(onSilent); n == 0 || n == len(grants) {
			t.Fatalf("%d of %d keys are on one server", n, len(grants))
		}
		holdScripts(t, servers[silent])

		start := time.Now()
		var renewals sync.WaitGroup
		for range 5 { // more than are in progress for one server
			renewals.Go(func() { driver.RenewAll(t.Context(), b, onSilent) })
		}
		synctest.Wait()
		live := grants[slices.IndexFunc(grants, func(g driver.Grant) bool { return !isSilent(g) })]
		mustRelease(t, b, mustTry(t, b, request("{"+live.Key+"}:another"))) // on the same server
		if d := time.Since(start); d != 0 {
			t.Errorf("a lock on the other server took %v", d)
		}
		renewals.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			var reported atomic.Int32
			b.Renew(ctx, grants, func(i int, r error) {
				reported.Add(1)
				want := outcome("extended")
				if isSilent(grants[i]) {
					want = "unknown"
				}
				d := time.Since(start)
				if outcomeOf(r) != want || (want == "extended") != (d == 0) {
					t.Errorf("%s after %v: %v", grants[i].Key, d, r)
				}
			})
			if n := reported.Load(); int(n) != len(grants) {
				t.Errorf("%d results of %d", n, len(grants))
			}
		})
		renewals.Wait()
	})
}

// Until it is known that the client leads to one server, a script has the keys of one lock: another
// key may be on another server. The first acquisition asks.
func TestOneLockInAScriptAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		grants := hold(t, newBackend(t, redistest.VirtualClient(t, m)), 2)
		b := newBackend(t, redistest.VirtualClient(t, m))
		var most atomic.Int32
		m.Server().SetPreHook(func(_ *mini.Peer, cmd string, args ...string) bool {
			if strings.HasPrefix(cmd, "EVAL") {
				n, _ := strconv.Atoi(args[1])
				most.Store(max(most.Load(), int32(n)))
			}
			return false
		})
		for _, keys := range []int32{1, 2} {
			most.Store(0)
			renewed(t, driver.RenewAll(t.Context(), b, grants), all("extended"))
			if n := most.Load(); n != keys {
				t.Errorf("a script has %d keys, want %d", n, keys)
			}
			mustRelease(t, b, mustTry(t, b, modes["exclusive"]("other")))
		}
	})
}
