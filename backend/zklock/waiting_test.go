package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/zktest"
)

// TestOrderOfArrival has fifteen sessions contend for one key: they are served in
// the order in which they came, and each release wakes one of them.
func TestOrderOfArrival(t *testing.T) {
	t.Parallel()
	const contenders = 15
	// A server of its own, because its watches are counted.
	server := zktest.Start(t, zktest.Config{})
	addr := []string{server.Addr()}
	admin := newAdmin(t, server.Addr())
	holder := newBackend(t, addr)
	g := mustTry(t, holder, request("key"))
	var line []*inLine
	var backends []*zklock.Backend
	for i := range contenders {
		b := newBackend(t, addr)
		backends = append(backends, b)
		line = append(line, queue(t, b, request("key")))
		eventually(t, patience, "a place in line", func() bool { return len(children(t, admin, parentOf("key"))) == i+2 })
	}
	watching := func() int64 { return server.Metric(t, "zk_watch_count") }
	eventually(t, patience, "everybody watches", func() bool { return watching() == contenders })
	fired := func() int64 { return server.Metric(t, "zk_sum_node_deleted_watch_count") }
	var order register
	for i, w := range line {
		for _, later := range line[i:] {
			later.mustWait(t)
		}
		before := fired()
		if i == 0 {
			mustRelease(t, holder, g)
		} else {
			mustRelease(t, backends[i-1], line[i-1].grant)
		}
		g := w.served(t)
		order.enter(t, g.Token)
		order.leave()
		// The server counts what it has sent.
		eventually(t, patience, "a watch that fired is counted", func() bool { return fired() > before })
		if n := fired() - before; n != 1 {
			t.Errorf("release %d woke %d waiters", i+1, n)
		}
		if left := watching(); left != int64(contenders-1-i) {
			t.Errorf("after release %d there are %d watches for %d waiters", i+1, left, contenders-1-i)
		}
	}
	mustRelease(t, backends[contenders-1], line[contenders-1].grant)
	if names := children(t, admin, parentOf("key")); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}

// TestOneWatchForMany has many wait in one Backend for what all of them wait for,
// looking often: the server has one watch for it.
func TestOneWatchForMany(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Config{})
	admin := newAdmin(t, server.Addr())
	b := newBackend(t, []string{server.Addr()})
	g := mustTry(t, b, request("key"))
	var line []*inLine
	for range 20 {
		r := request("key")
		r.Mode = driver.Shared
		r.Backoff = driver.NewBackoff(2*time.Millisecond, 0)
		line = append(line, queue(t, b, r))
	}
	eventually(t, patience, "places in line", func() bool { return len(children(t, admin, parentOf("key"))) == 21 })
	reads := func() int64 { return server.Metric(t, "zk_packets_received") }
	for start := reads(); reads() < start+500; { // they look again and again
		if n := server.Metric(t, "zk_watch_count"); n > 1 {
			t.Fatalf("%d watches for one node", n)
		}
	}
	mustRelease(t, b, g)
	for _, w := range line {
		mustRelease(t, b, w.served(t))
	}
}

// TestHalfOfAThousandLeave has 1,000 wait, of whom every second leaves. The others
// are served, one at a time, and nothing is left.
func TestHalfOfAThousandLeave(t *testing.T) {
	t.Parallel()
	const waiters, sessions = 1000, 4
	addr := []string{sharedServer(t).Addr()}
	admin := newAdmin(t, addr...)
	key := "thousand"
	var backends []*zklock.Backend
	for range sessions {
		backends = append(backends, newBackend(t, addr))
	}
	g := mustTry(t, backends[0], request(key))
	var r register
	r.token.Store(g.Token)
	var wg sync.WaitGroup
	leaving, leave := context.WithCancel(context.Background())
	defer leave()
	for i := range waiters {
		b := backends[i%sessions]
		wg.Go(func() {
			ctx, leaves := context.Background(), i/sessions%2 == 0
			if leaves {
				ctx = leaving
			}
			req := request(key)
			req.Backoff = driver.NewBackoff(time.Minute, 0)
			g, err := b.Acquire(ctx, req)
			switch {
			case leaves:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Acquire of one who leaves: %v", err)
				}
				g = req.Grant()
			case err != nil:
				t.Errorf("Acquire: %v", err)
				return
			default:
				r.enter(t, g.Token)
				r.leave()
			}
			if err := b.Release(context.Background(), g); err != nil {
				t.Errorf("Release: %v", err)
			}
		})
	}
	eventually(t, 2*time.Minute, "everybody in line", func() bool { return len(children(t, admin, parentOf(key))) == waiters+1 })
	start := time.Now()
	leave()
	eventually(t, 2*time.Minute, "half have left", func() bool { return len(children(t, admin, parentOf(key))) == waiters/2+1 })
	left := time.Since(start)
	mustRelease(t, backends[0], g)
	wg.Wait()
	t.Logf("%d left within %v, %d were served within %v", waiters/2, left, r.visits.Load(), time.Since(start)-left)
	if n := r.visits.Load(); n != waiters/2 {
		t.Errorf("%d of %d were served", n, waiters/2)
	}
	if names := children(t, admin, parentOf(key)); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}

// TestNothingIsLeft locks many keys: the server deletes their nodes after a while.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	addr := []string{sharedServer(t).Addr()}
	admin := newAdmin(t, addr...)
	b := newBackend(t, addr, zklock.WithRoot("/left/behind"))
	const keys = 2000
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := i; j < keys; j += 50 {
				g, err := b.TryAcquire(context.Background(), request(fmt.Sprint("key", j)))
				if err == nil {
					err = b.Release(context.Background(), g)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	eventually(t, 2*time.Minute, "no node is left", func() bool { return len(children(t, admin, "/left/behind")) == 0 })
	mustRelease(t, b, mustTry(t, b, request("key1"))) // and they can be used again
}

// TestContainersComeAndGo uses one key while the server deletes its node whenever
// it can.
func TestContainersComeAndGo(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Config{Properties: []string{
		"znode.container.checkIntervalMs=1", "znode.container.maxPerMinute=100000000",
	}})
	addr := []string{server.Addr()}
	var r register
	var wg sync.WaitGroup
	for range 4 {
		b := newBackend(t, addr)
		wg.Go(func() {
			for range 150 {
				g, err := b.Acquire(context.Background(), request("key"))
				if err != nil {
					t.Errorf("Acquire: %v", err)
					return
				}
				r.enter(t, g.Token)
				r.leave()
				if err := b.Release(context.Background(), g); err != nil {
					t.Errorf("Release: %v", err)
				}
			}
		})
	}
	wg.Wait()
}
