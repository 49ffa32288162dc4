package zklock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/stall"
	"github.com/distlock-go/distlock/internal/testmode"
	"github.com/distlock-go/distlock/internal/zktest"
)

// TestMaxLease: the longest lease ends before the session can end, in the worst case that
// its comment describes.
func TestMaxLease(t *testing.T) {
	t.Parallel()
	for _, tick := range []time.Duration{100 * time.Millisecond, 2 * time.Second} {
		for ticks := 3; ticks <= 20; ticks++ {
			timeout := time.Duration(ticks) * tick
			gone := timeout - timeout/3 - tick/2
			if l := zklock.MaxLease(timeout); l <= 0 || l > gone {
				t.Errorf("a lease of %v, and a session of %v that may end after %v", l, timeout, gone)
			}
		}
	}
}

// TestLeaseBound: no grant's lease is longer than half of the timeout that the
// server agreed to, whatever was asked for.
func TestLeaseBound(t *testing.T) {
	t.Parallel()
	addr := []string{sharedServer(t).Addr()} // sessions of 400 ms to 600 s
	for _, c := range []struct{ session, ttl, want time.Duration }{
		{time.Hour, time.Hour, 5 * time.Minute},
		{time.Hour, time.Minute, time.Minute},
		{10 * time.Second, time.Minute, 5 * time.Second},
		{100 * time.Millisecond, time.Minute, 200 * time.Millisecond},
	} {
		b := newBackend(t, addr, zklock.WithSessionTimeout(c.session))
		r := request("bound")
		r.TTL = c.ttl
		g := tryLong(t, b, r) // the shortest session may be over in between
		if g.TTL != c.want {
			t.Errorf("a session of %v and a TTL of %v: a lease of %v, want %v", c.session, c.ttl, g.TTL, c.want)
		}
		_ = b.Release(context.Background(), g) // and so may the lease
	}
}

// TestMinHoldBeyondTheBound keeps a key for longer than a lease can be: the process
// ends it then, and not the server.
func TestMinHoldBeyondTheBound(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := []string{sharedServer(t).Addr()}
	admin := newAdmin(t, addr...)
	b, other := newBackend(t, addr, zklock.WithSessionTimeout(6*time.Second)), newBackend(t, addr)
	locker := distlock.New(b, distlock.Config{})
	defer locker.Close()
	const keep = 7 * time.Second // more than twice the longest lease
	start := time.Now()
	err := locker.Do(context.Background(), "kept", distlock.Opts{KeyTimeout: time.Minute, MinHold: keep},
		func(context.Context) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	w := queue(t, other, request("kept"))
	g := w.served(t)
	if d := time.Since(start); d < keep-distlock.DefaultRetryInterval/10 || d > keep+patience/2 {
		t.Errorf("kept for %v, want %v", d, keep)
	}
	mustRelease(t, other, g)
	if names := children(t, admin, parentOf("kept")); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}

// TestRow12CutForLonger cuts the connection of a holder, and of one who waits, for
// longer than the session lasts. The holder's context is cancelled before the
// server gives the key to another. Both come back in a new session, which has
// nothing of the old one.
//
// Row 12 (zklock): the holder is cancelled before the server ends the session and
// grants to another; both come back. Fails if a lease may be longer than the session.
func TestRow12CutForLonger(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	cut, network := overNetwork(t, addr, zklock.WithSessionTimeout(6*time.Second), zklock.WithOpTimeout(5*time.Second))
	other := newBackend(t, []string{addr})
	locker := distlock.New(cut, distlock.Config{})
	defer locker.Close()

	stalls := stall.Start(t)
	lease, err := locker.Acquire(context.Background(), "cut", distlock.Opts{KeyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	held := mustTry(t, other, request("cut-too"))
	w := queue(t, cut, request("cut-too"))
	next := queue(t, other, request("cut"))
	eventually(t, patience, "two lines", func() bool {
		return len(children(t, admin, parentOf("cut"))) == 2 && len(children(t, admin, parentOf("cut-too"))) == 2
	})
	place := inOrder(children(t, admin, parentOf("cut-too")))[1]

	network.Hang(true)
	served := make(chan time.Time, 1)
	go func() {
		<-next.done
		served <- time.Now()
	}()
	<-lease.Context().Done()
	cancelled := time.Now()
	g := next.served(t)
	margin := (<-served).Sub(cancelled)
	switch late := cancelled.Sub(lease.Until()); {
	case margin > 0:
		t.Logf("the holder's context was cancelled %v before another had the key", margin)
	case stalls.Excuses(late):
		t.Logf("this process stood still: the holder was told %v late", late)
	default:
		t.Errorf("the holder's context was cancelled %v after another had the key", -margin)
	}
	if !errors.Is(context.Cause(lease.Context()), driver.ErrLost) {
		t.Errorf("cancelled because of %v", context.Cause(lease.Context()))
	}
	if g.Token <= lease.Token() {
		t.Errorf("token %d after token %d", g.Token, lease.Token())
	}
	w.mustWait(t)

	network.Hang(false)
	network.CloseCut()
	eventually(t, patience, "the waiter is in line again", func() bool {
		names := children(t, admin, parentOf("cut-too"))
		return len(names) == 2 && !slices.Contains(names, place)
	})
	w.mustWait(t)
	mustRelease(t, other, held)
	mustRelease(t, cut, w.served(t))
	mustRelease(t, other, g)
	if err := lease.Release(context.Background()); !errors.Is(err, driver.ErrLost) {
		t.Errorf("Release of the lost lease: %v", err)
	}
	if err := locker.Do(context.Background(), "cut", distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
		t.Errorf("Do in the new session: %v", err)
	}
	for _, key := range []string{"cut", "cut-too"} {
		if names := children(t, admin, parentOf(key)); len(names) != 0 {
			t.Errorf("left behind: %q", names)
		}
	}
}

// TestRow12CutForLess cuts the connection for less than the session lasts: nothing is
// lost, and a release that the holder of the waiter's key did meanwhile is noticed.
//
// Row 12 (zklock): nothing is lost, and what was missed is noticed. Fails if a renewal
// without an answer is a loss.
func TestRow12CutForLess(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	cut, network := overNetwork(t, addr, zklock.WithOpTimeout(2*time.Second))
	other := newBackend(t, []string{addr})
	g := tryLong(t, cut, request("less"))
	held := mustTry(t, other, request("less-too"))
	w := queue(t, cut, request("less-too"))
	eventually(t, patience, "a place", func() bool { return len(children(t, admin, parentOf("less-too"))) == 2 })
	eventually(t, patience, "it watches", func() bool {
		paths, err := sharedServer(t).Ask("wchp")
		return err == nil && strings.Contains(paths, parentOf("less-too")+"/")
	})
	isUp(t, cut, "less-and-free")

	network.Hang(true)
	mustRelease(t, other, held)
	if s := renewed(t, cut, g); s.Status != driver.Unknown || s.Err == nil {
		t.Errorf("renewed without a connection: %v", s)
	}
	w.mustWait(t)
	network.Hang(false)
	network.CloseCut()
	eventually(t, patience, "it is renewed", func() bool {
		s := renewed(t, cut, g)
		if s.Status == driver.Lost {
			t.Fatal("lost although the session goes on")
		}
		return s.Status == driver.Renewed
	})
	releaseLong(t, cut, w.served(t))
	releaseLong(t, cut, g)
}

// TestRow12ServerRestarted restarts a server, which keeps sessions and nodes on disk:
// the holder goes on, and whoever waits is served in turn.
//
// Row 12 (zklock): the holder goes on, and whoever waits is served. Fails if a renewal
// without an answer is a loss.
func TestRow12ServerRestarted(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	server := zktest.Start(t, zktest.Config{})
	addr := []string{server.Addr()}
	b, other := newBackend(t, addr, zklock.WithOpTimeout(2*time.Second)), newBackend(t, addr)
	g := tryLong(t, b, request("key"))
	admin := newAdmin(t, server.Addr())
	w := queue(t, other, request("key"))
	eventually(t, patience, "a place", func() bool { return len(children(t, admin, parentOf("key"))) == 2 })
	eventually(t, patience, "it watches", func() bool { return server.Metric(t, "zk_watch_count") == 1 })
	hearsAll(t, other)
	server.Kill()
	if s := renewed(t, b, g); s.Status != driver.Unknown {
		t.Errorf("renewed without a server: %v", s)
	}
	server.Restart(t)
	eventually(t, patience, "it is renewed", func() bool { return renewed(t, b, g).Status == driver.Renewed })
	w.mustWait(t)
	releaseLong(t, b, g)
	if next := w.served(t); next.Token <= g.Token {
		t.Errorf("token %d after token %d", next.Token, g.Token)
	}
}

// TestRow12Ensemble runs the suite on three servers, and injects their faults.
//
// Row 12 (zklock): without a leader a renewal is unknown and not lost, and when one of
// three servers is killed all who contend are served, one at a time, with rising
// tokens. Fails if a renewal without an answer is a loss.
func TestRow12Ensemble(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	e := zktest.StartEnsemble(t, zktest.Config{})
	t.Run("conformance", func(t *testing.T) { conform(t, e.Addrs()) })
	t.Run("leader-stopped", func(t *testing.T) { leaderStopped(t, e) })
	t.Run("leader-killed", func(t *testing.T) { leaderKilled(t, e) })
}

// leaderStopped connects to a follower whose leader does not answer. It goes on
// showing the nodes that it knows, and that proves nothing.
func leaderStopped(t *testing.T, e *zktest.Ensemble) {
	leader := e.Leader(t)
	var follower string
	for _, s := range e.Servers {
		if s != leader {
			follower = s.Addr()
		}
	}
	open := func() *zklock.Backend {
		return newBackend(t, []string{follower}, zklock.WithOpTimeout(impatience))
	}
	b, again := open(), open() // what waits for the leader in a session holds up what comes behind it
	admin := newAdmin(t, follower)
	r := request("stopped")
	g := tryLong(t, b, r)
	other := request("stopped-too")
	tryLong(t, again, other)
	children(t, admin, parentOf(r.Key)) // a session cannot begin without the leader
	leader.Stop(t)
	defer leader.Cont(t)
	eventually(t, patience, "the leader is silent", func() bool { return renewed(t, b, g).Status == driver.Unknown })
	if s := renewed(t, b, g); s.Status != driver.Unknown {
		t.Errorf("renewed without a leader: %v", s)
	}
	if _, err := again.TryAcquire(context.Background(), other); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("TryAcquire by the holder without a leader: %v", err)
	}
	if names, _, err := admin.Children(parentOf(r.Key)); err != nil || len(names) != 1 {
		t.Errorf("the follower does not show the node any more, and the test shows nothing: %q, %v", names, err)
	}
	leader.Cont(t)
	eventually(t, patience, "it is renewed", func() bool { return renewed(t, b, g).Status == driver.Renewed })
	releaseLong(t, b, g)
}

// leaderKilled kills the leader while three sessions contend for a key, and starts
// it again. They never hold it together, and all go on.
func leaderKilled(t *testing.T, e *zktest.Ensemble) {
	const sessions, before, after = 3, 20, 20
	var r register
	var wg sync.WaitGroup
	halfway := make(chan struct{})
	var half sync.WaitGroup
	half.Add(sessions)
	for range sessions {
		b := newBackend(t, e.Addrs(), zklock.WithSessionTimeout(30*time.Second), zklock.WithOpTimeout(time.Second))
		wg.Go(func() {
			visit := func() {
				req := request("killed")
				var g driver.Grant
				for deadline := time.Now().Add(time.Minute); ; {
					var err error
					req.Backoff = driver.NewBackoff(time.Second, 0)
					if g, err = b.Acquire(context.Background(), req); err == nil {
						break
					}
					if time.Now().After(deadline) {
						t.Errorf("Acquire: %v", err)
						return
					}
				}
				r.enter(t, g.Token)
				r.leave()
				_ = b.Release(context.Background(), g) // it goes on by itself
			}
			for range before {
				visit()
			}
			half.Done()
			<-halfway
			for range after {
				visit()
			}
		})
	}
	half.Wait()
	leader := e.Leader(t)
	close(halfway)
	leader.Kill()
	wg.Wait()
	if n := r.visits.Load(); n != sessions*(before+after) {
		t.Errorf("%d visits of %d", n, sessions*(before+after))
	}
	e.Restart(t, leader)
	admin := newAdmin(t, e.Addrs()...)
	eventually(t, patience, "nothing is left", func() bool { return len(children(t, admin, parentOf("killed"))) == 0 })
}
