package zklock_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/spoilnet"
	"github.com/distlock-go/distlock/internal/testmode"
)

// creates matches the creation of a lock's node.
func creates(p []byte) bool { return bytes.Contains(p, []byte("-lock-")) }

// overNetwork returns a Backend whose connections can be spoilt.
func overNetwork(tb testing.TB, addr string, opts ...zklock.Option) (*zklock.Backend, *spoilnet.Network) {
	tb.Helper()
	n := new(spoilnet.Network)
	return newBackend(tb, []string{addr}, append(opts, zklock.WithDialer(n.DialTimeout))...), n
}

// TestRow08LostCreateReply loses the reply to the creation of the node: whoever tries
// again has the key with that node, and does not wait for itself.
//
// Row 8 (zklock): the node is found again, and is the grant. Fails if a node whose
// creation was not answered is not looked for.
// Row 12 (zklock): a lost create is found again. Fails if a node whose creation was
// not answered is not looked for.
func TestRow08LostCreateReply(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr)
	const key = "lost-create"
	keepParent(t, admin, key)
	mustRelease(t, b, mustTry(t, b, request(key)))

	n.DeafenAt(creates)
	r := request(key)
	result := make(chan error, 1)
	go func() {
		_, err := b.TryAcquire(context.Background(), r)
		result <- err
	}()
	eventually(t, patience, "the node is there", func() bool { return n.Deaf() == 1 && len(children(t, admin, parentOf(key))) == 1 })
	n.Kill()
	if err := <-result; err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("TryAcquire without a reply: %v", err)
	}
	node := children(t, admin, parentOf(key))
	g := mustTry(t, b, r)
	if again := children(t, admin, parentOf(key)); len(again) != 1 || again[0] != node[0] {
		t.Errorf("at first %q, then %q", node, again)
	}
	mustRelease(t, b, g)
	if left := children(t, admin, parentOf(key)); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestRow08LostCreateGivenUp loses the reply to the creation of a node whose owner then
// gives up: it is deleted all the same.
//
// Row 8 (zklock): nothing is left of what was given up without an answer. Fails if
// nothing is deleted in the background.
func TestRow08LostCreateGivenUp(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr, zklock.WithOpTimeout(impatience))
	const key = "given-up-create"
	keepParent(t, admin, key)
	isUp(t, b, key)
	n.DeafenAt(creates)
	r := request(key)
	start := time.Now()
	if _, err := b.TryAcquire(context.Background(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("TryAcquire without a reply: %v", err)
	}
	if err := b.Release(context.Background(), r.Grant()); err == nil {
		t.Error("Release without a reply is certain of it")
	}
	if d := time.Since(start); d > patience {
		t.Errorf("two calls without a reply took %v", d)
	}
	eventually(t, patience, "the node is there", func() bool { return n.Deaf() == 1 && len(children(t, admin, parentOf(key))) == 1 })
	n.Kill()
	eventually(t, patience, "the orphan is deleted", func() bool { return len(children(t, admin, parentOf(key))) == 0 })
	isUp(t, b, key)
}

// TestRow09LateCreate has the creation of a node arrive after its owner has given up.
//
// Row 9 (zklock): a node that is made late is deleted. Fails if nothing is deleted in
// the background.
func TestRow09LateCreate(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr, zklock.WithOpTimeout(impatience))
	const key = "late-create"
	keepParent(t, admin, key) // and so the server counts on
	isUp(t, b, key)
	eventually(t, patience, "nothing is left", func() bool { return len(children(t, admin, parentOf(key))) == 0 })
	_, before, err := admin.Exists(parentOf(key))
	if err != nil {
		t.Fatal(err)
	}
	n.HoldAt(creates)
	r := request(key)
	if _, err := b.TryAcquire(context.Background(), r); err == nil {
		t.Error("TryAcquire without a reply succeeds")
	}
	_ = b.Release(context.Background(), r.Grant())
	eventually(t, patience, "the request is on its way", func() bool { return n.Held() == 1 })
	if err := n.Deliver(); err != nil {
		t.Fatal(err)
	}
	// Created, deleted, and nothing more.
	eventually(t, patience, "the late node came and went", func() bool {
		_, stat, err := admin.Exists(parentOf(key))
		return err == nil && stat.Cversion == before.Cversion+2 && stat.NumChildren == 0
	})
	isUp(t, b, key)
}

// TestLostReleaseReply cuts the connection before the release: it goes on in the
// background.
func TestLostReleaseReply(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr, zklock.WithOpTimeout(impatience))
	const key = "lost-release"
	g := tryLong(t, b, request(key))
	n.Cut()
	if err := b.Release(context.Background(), g); err == nil {
		t.Error("Release without a reply is certain of it")
	}
	n.Kill()
	eventually(t, patience, "the node is deleted", func() bool { return len(children(t, admin, parentOf(key))) == 0 })
	releaseLong(t, b, g) // again
}

// TestOwnOrphan finds a node of the owner's from a session that has died without
// the server knowing it: nobody waits for itself.
func TestOwnOrphan(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	b := newBackend(t, []string{addr})
	const key = "orphan"
	keepParent(t, admin, key)
	r := request(key)
	plant(t, admin, parentOf(key)+"/_c_"+r.Owner+"-lock-", zk.FlagEphemeralSequential)
	g := mustTry(t, b, r)
	if names := children(t, admin, parentOf(key)); len(names) != 1 {
		t.Errorf("there should be one node: %q", names)
	}
	mustRelease(t, b, g)
}

func plant(t *testing.T, admin *zk.Conn, path string, flags int32) string {
	t.Helper()
	path, err := admin.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNodeDeleted has an operator delete nodes: the holder's renewal says Lost, and
// a waiter without a node is not granted the key, but stands in line again.
func TestNodeDeleted(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	b, other := newBackend(t, []string{addr}), newBackend(t, []string{addr})
	const key = "deleted"
	g := mustTry(t, b, request(key))
	first := queue(t, b, request(key))
	eventually(t, patience, "a place", func() bool { return len(children(t, admin, parentOf(key))) == 2 })
	second := queue(t, other, request(key))
	eventually(t, patience, "a place", func() bool { return len(children(t, admin, parentOf(key))) == 3 })
	names := inOrder(children(t, admin, parentOf(key)))

	// The first waiter's: the second one moves up, and neither has the key.
	if err := admin.Delete(parentOf(key)+"/"+names[1], -1); err != nil {
		t.Fatal(err)
	}
	if s := renewed(t, b, g); s.Status != driver.Renewed {
		t.Errorf("the holder is %v", s)
	}
	first.mustWait(t)
	second.mustWait(t)
	// The holder's: it learns it, and the line moves on.
	if err := admin.Delete(parentOf(key)+"/"+names[0], -1); err != nil {
		t.Fatal(err)
	}
	g2 := second.served(t)
	if s := renewed(t, b, g); s.Status != driver.Lost {
		t.Errorf("the deposed holder is %v", s)
	}
	if err := b.Release(context.Background(), g); !errors.Is(err, driver.ErrLost) {
		t.Errorf("Release by the deposed holder: %v", err)
	}
	first.mustWait(t)
	mustRelease(t, other, g2)
	first.cancel()
	<-first.done
	_ = b.Release(context.Background(), first.request.Grant())
	mustRelease(t, b, mustTry(t, b, request(key)))
}

// TestStolenName puts a node of another session in the place of the holder's, with
// the same name, and of a waiter's: both are strangers' nodes, and no lock.
func TestStolenName(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	b, other := newBackend(t, []string{addr}), newBackend(t, []string{addr})
	const key = "stolen"
	g := mustTry(t, other, request(key))
	r := request(key)
	r.Backoff = driver.NewBackoff(20*time.Millisecond, 0)
	w := queue(t, b, r)
	eventually(t, patience, "a place", func() bool { return len(children(t, admin, parentOf(key))) == 2 })
	steal := func(name string) string {
		path := parentOf(key) + "/" + name
		_, err := admin.Multi(&zk.DeleteRequest{Path: path, Version: -1},
			&zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	names := inOrder(children(t, admin, parentOf(key)))
	stolen := steal(names[1])
	eventually(t, patience, "the waiter has found out", func() bool {
		exists, _, err := admin.Exists(stolen)
		return err == nil && !exists && len(children(t, admin, parentOf(key))) == 2
	})
	w.mustWait(t)
	steal(names[0])
	if s := renewed(t, other, g); s.Status != driver.Lost {
		t.Errorf("the holder whose node is another's now is %v", s)
	}
	mustRelease(t, b, w.served(t))
	eventually(t, patience, "nothing is left", func() bool { return len(children(t, admin, parentOf(key))) == 0 })
}

// TestOverflow finds the sequence numbers used up, and says so.
func TestOverflow(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	b := newBackend(t, []string{addr})
	const key = "overflow"
	keepParent(t, admin, key)
	plant(t, admin, parentOf(key)+"/_c_9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11-lock--2147483648", zk.FlagEphemeral)
	r := request(key)
	if _, err := b.TryAcquire(context.Background(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("TryAcquire: %v", err)
	}
	if _, err := b.Acquire(context.Background(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("Acquire: %v", err)
	}
}

// failing is a connection whose next write of credentials fails, once armed.
type failing struct {
	net.Conn
	armed *atomic.Bool
}

func (c failing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("digest")) && c.armed.CompareAndSwap(true, false) {
		return 0, errors.New("broken pipe")
	}
	return c.Conn.Write(p)
}

// TestCredentialsNotWritten has a new connection break just when the credentials
// are repeated on it. go-zookeeper 1.0.4 alone would hang for ever then.
func TestCredentialsNotWritten(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t).Addr()
	n, armed := new(spoilnet.Network), new(atomic.Bool)
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := n.DialTimeout(network, address, timeout)
		return failing{c, armed}, err
	}
	b := newBackend(t, []string{addr}, zklock.WithDialer(dial), zklock.WithDigest("shop", "secret"),
		zklock.WithRoot("/credentials"), zklock.WithOpTimeout(5*time.Second))
	hearsAll(t, b)
	g := mustTry(t, b, request("key"))
	armed.Store(true)
	n.Kill()
	eventually(t, patience, "it is renewed", func() bool { return renewed(t, b, g).Status == driver.Renewed })
	if armed.Load() {
		t.Error("the credentials were not repeated, and the test shows nothing")
	}
	mustRelease(t, b, g)
}

// drowsy is a connection to a server that overlooks what creates a node until
// something else comes.
type drowsy struct {
	net.Conn
	overlooked *atomic.Int32
	kept       []byte
}

func (c *drowsy) Write(p []byte) (int, error) {
	if creates(p) && c.kept == nil {
		c.kept = bytes.Clone(p)
		c.overlooked.Add(1)
		return len(p), nil
	}
	if _, err := c.Conn.Write(append(c.kept, p...)); err != nil {
		return 0, err
	}
	c.kept = nil
	return len(p), nil
}

// TestDrowsyServer has a server that finds a request only when the next one comes,
// as ZooKeeper 3.8.0 does when its CommitProcessor misses that it was woken.
func TestDrowsyServer(t *testing.T) {
	t.Parallel()
	addr, overlooked := sharedServer(t).Addr(), new(atomic.Int32)
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, address, timeout)
		return &drowsy{Conn: c, overlooked: overlooked}, err
	}
	b := newBackend(t, []string{addr}, zklock.WithDialer(dial), zklock.WithOpTimeout(patience))
	mustRelease(t, b, mustTry(t, b, request("drowsy")))
	if overlooked.Load() == 0 {
		t.Error("the server overlooked nothing, and the test shows nothing")
	}
}
