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

// TestLeaseBound: no lease is longer than half of the timeout that the server agreed to.
func TestLeaseBound(t *testing.T) {
	t.Parallel()
	addr := []string{shared.Server(t).Addr()} // sessions of 400 ms to 600 s
	for _, c := range []struct{ session, ttl, want time.Duration }{
		{time.Hour, time.Hour, 5 * time.Minute},
		{time.Hour, time.Minute, time.Minute},
		{10 * time.Second, time.Minute, 5 * time.Second},
		{100 * time.Millisecond, time.Minute, 200 * time.Millisecond},
	} {
		b := newBackend(t, addr, zklock.WithSessionTimeout(c.session))
		r := request("bound")
		r.TTL = c.ttl
		g := tryRepeatedly(t, b, r) // the shortest session may end in between
		if g.TTL != c.want {
			t.Errorf("a session of %v and a TTL of %v: a lease of %v, want %v", c.session, c.ttl, g.TTL, c.want)
		}
		_ = b.Release(context.Background(), g) // the shortest lease may have ended
	}
}

// TestMinHoldBeyondTheBound: MinHold may be longer than the longest lease. The process ends
// the lease then, not the server.
func TestMinHoldBeyondTheBound(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := []string{shared.Server(t).Addr()}
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
	w := startWaiter(t, other, request("kept"))
	g := w.served(t)
	if d := time.Since(start); d < keep-distlock.DefaultRetryInterval/10 || d > keep+patience/2 {
		t.Errorf("kept for %v, want %v", d, keep)
	}
	mustRelease(t, other, g)
	if names := children(t, admin, parentOf("kept")); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}

// TestRow12CutForLonger: the connection of a holder and of a waiter is cut for longer than
// the session lasts. The holder's context is cancelled before the server gives the key to
// another owner. Both work again in a new session, and nothing of the old session is left.
//
// Row 12 (zklock): the holder's context is cancelled before another owner gets the key, and
// both work again in a new session. Fails if a lease may be longer than the session.
func TestRow12CutForLonger(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := shared.Server(t).Addr()
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
	held := mustAcquire(t, other, request("cut-too"))
	w := startWaiter(t, cut, request("cut-too"))
	next := startWaiter(t, other, request("cut"))
	eventually(t, patience, "two queues", func() bool {
		return len(children(t, admin, parentOf("cut"))) == 2 && len(children(t, admin, parentOf("cut-too"))) == 2
	})
	node := byNumber(children(t, admin, parentOf("cut-too")))[1]

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
		t.Logf("this process was suspended: the holder's context was cancelled %v late", late)
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
	eventually(t, patience, "the waiter is in the queue again", func() bool {
		names := children(t, admin, parentOf("cut-too"))
		return len(names) == 2 && !slices.Contains(names, node)
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

// TestRow12CutForLess: the connection is cut for less than the session lasts. No lock is
// lost, and the waiter notices a release of that time.
//
// Row 12 (zklock): no lock is lost, and a waiter notices a release that it missed. Fails if
// a renewal without an answer counts as Lost.
func TestRow12CutForLess(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	cut, network := overNetwork(t, addr, zklock.WithOpTimeout(2*time.Second))
	other := newBackend(t, []string{addr})
	g := tryRepeatedly(t, cut, request("less"))
	held := mustAcquire(t, other, request("less-too"))
	w := startWaiter(t, cut, request("less-too"))
	eventually(t, patience, "it is in the queue", func() bool { return len(children(t, admin, parentOf("less-too"))) == 2 })
	eventually(t, patience, "it watches", func() bool {
		paths, err := shared.Server(t).Ask("wchp")
		return err == nil && strings.Contains(paths, parentOf("less-too")+"/")
	})
	mustWork(t, cut, "less-and-free")

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
			t.Fatal("Lost although the session continues")
		}
		return s.Status == driver.Renewed
	})
	releaseRepeatedly(t, cut, w.served(t))
	releaseRepeatedly(t, cut, g)
}

// TestRow12ServerRestarted: the server is restarted. It keeps sessions and nodes on disk,
// so the holder keeps the key, and the waiter gets it next.
//
// Row 12 (zklock): the holder keeps the key, and the waiter gets it next. Fails if a
// renewal without an answer counts as Lost.
func TestRow12ServerRestarted(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	server := zktest.Start(t, zktest.Config{})
	addr := []string{server.Addr()}
	b, other := newBackend(t, addr, zklock.WithOpTimeout(2*time.Second)), newBackend(t, addr)
	g := tryRepeatedly(t, b, request("key"))
	admin := newAdmin(t, server.Addr())
	w := startWaiter(t, other, request("key"))
	eventually(t, patience, "it is in the queue", func() bool { return len(children(t, admin, parentOf("key"))) == 2 })
	eventually(t, patience, "it watches", func() bool { return server.Metric(t, "zk_watch_count") == 1 })
	drain(t, other)
	server.Kill()
	if s := renewed(t, b, g); s.Status != driver.Unknown {
		t.Errorf("renewed without a server: %v", s)
	}
	server.Restart(t)
	eventually(t, patience, "it is renewed", func() bool { return renewed(t, b, g).Status == driver.Renewed })
	w.mustWait(t)
	releaseRepeatedly(t, b, g)
	if next := w.served(t); next.Token <= g.Token {
		t.Errorf("token %d after token %d", next.Token, g.Token)
	}
}

// TestRow12Ensemble runs the conformance suite on three servers, and then stops and kills
// the leader.
//
// Row 12 (zklock): without a leader a renewal is Unknown. After one of three servers is
// killed, all waiters get the key, one at a time, with rising tokens. Fails if a renewal
// without an answer counts as Lost.
func TestRow12Ensemble(t *testing.T) {
	testmode.Long(t)
	reconnects(t)
	t.Parallel()
	e := zktest.StartEnsemble(t, zktest.Config{})
	t.Run("conformance", func(t *testing.T) { conform(t, e.Addrs()) })
	t.Run("leader-stopped", func(t *testing.T) { leaderStopped(t, e) })
	t.Run("leader-killed", func(t *testing.T) { leaderKilled(t, e) })
}

// leaderStopped connects to a follower of a leader that does not answer. The follower
// still shows the nodes that it knows, which must not count as a confirmation.
func leaderStopped(t *testing.T, e *zktest.Ensemble) {
	leader := e.Leader(t)
	var follower string
	for _, s := range e.Servers {
		if s != leader {
			follower = s.Addr()
		}
	}
	open := func() *zklock.Backend {
		return newBackend(t, []string{follower}, zklock.WithOpTimeout(shortTimeout))
	}
	b, again := open(), open() // a request that waits for the leader delays later ones of its session
	admin := newAdmin(t, follower)
	r := request("stopped")
	g := tryRepeatedly(t, b, r)
	other := request("stopped-too")
	tryRepeatedly(t, again, other)
	children(t, admin, parentOf(r.Key)) // begins the session, which is impossible without a leader
	leader.Stop(t)
	defer leader.Cont(t)
	eventually(t, patience, "the leader does not answer", func() bool { return renewed(t, b, g).Status == driver.Unknown })
	if s := renewed(t, b, g); s.Status != driver.Unknown {
		t.Errorf("renewed without a leader: %v", s)
	}
	if _, err := again.TryAcquire(context.Background(), other); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("TryAcquire by the holder without a leader: %v", err)
	}
	if names, _, err := admin.Children(parentOf(r.Key)); err != nil || len(names) != 1 {
		t.Errorf("the follower does not show the node any more: the test proves nothing: %q, %v", names, err)
	}
	leader.Cont(t)
	eventually(t, patience, "it is renewed", func() bool { return renewed(t, b, g).Status == driver.Renewed })
	releaseRepeatedly(t, b, g)
}

// leaderKilled kills the leader while three sessions contend for a key, and starts it
// again. Never do two of them have the key, and all continue.
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
			use := func() {
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
				r.begin(t, g.Token)
				r.end()
				_ = b.Release(context.Background(), g) // continues in the background after an error
			}
			for range before {
				use()
			}
			half.Done()
			<-halfway
			for range after {
				use()
			}
		})
	}
	half.Wait()
	leader := e.Leader(t)
	close(halfway)
	leader.Kill()
	wg.Wait()
	if n := r.uses.Load(); n != sessions*(before+after) {
		t.Errorf("%d uses of %d", n, sessions*(before+after))
	}
	leader.Restart(t)
	admin := newAdmin(t, e.Addrs()...)
	eventually(t, patience, "no node is left", func() bool { return len(children(t, admin, parentOf("killed"))) == 0 })
}
