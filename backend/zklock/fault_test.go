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

// overNetwork returns a Backend and the network of its connections.
func overNetwork(tb testing.TB, addr string, opts ...zklock.Option) (*zklock.Backend, *spoilnet.Network) {
	tb.Helper()
	n := new(spoilnet.Network)
	return newBackend(tb, []string{addr}, append(opts, zklock.WithDialer(n.DialTimeout))...), n
}

// TestRow08LostCreateReply: the reply to the creation of a node is lost. When the owner
// tries again, it gets the key with that node and does not wait for itself.
//
// Row 8 (zklock): the owner finds its node again and has the key. Fails if the Backend
// does not look for a node after the reply to its creation was lost.
// Row 12 (zklock): the owner finds its node again. Fails if the Backend does not look for
// a node after the reply to its creation was lost.
func TestRow08LostCreateReply(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr)
	const key = "lost-create"
	keepParent(t, admin, key)
	mustRelease(t, b, mustAcquire(t, b, request(key)))

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
	g := mustAcquire(t, b, r)
	if again := children(t, admin, parentOf(key)); len(again) != 1 || again[0] != node[0] {
		t.Errorf("at first %q, then %q", node, again)
	}
	mustRelease(t, b, g)
	if left := children(t, admin, parentOf(key)); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestRow08LostCreateGivenUp: the reply to the creation of a node is lost, and the owner
// gives up. The node is deleted.
//
// Row 8 (zklock): no node of an owner that gave up is left. Fails if nothing is deleted in
// the background.
func TestRow08LostCreateGivenUp(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr, zklock.WithOpTimeout(shortTimeout))
	const key = "given-up-create"
	keepParent(t, admin, key)
	mustWork(t, b, key)
	n.DeafenAt(creates)
	r := request(key)
	start := time.Now()
	if _, err := b.TryAcquire(context.Background(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("TryAcquire without a reply: %v", err)
	}
	if err := b.Release(context.Background(), r.Grant()); err == nil {
		t.Error("Release without a reply succeeds")
	}
	if d := time.Since(start); d > patience {
		t.Errorf("two calls without a reply took %v", d)
	}
	eventually(t, patience, "the node is there", func() bool { return n.Deaf() == 1 && len(children(t, admin, parentOf(key))) == 1 })
	n.Kill()
	eventually(t, patience, "the orphan is deleted", func() bool { return len(children(t, admin, parentOf(key))) == 0 })
	mustWork(t, b, key)
}

// TestRow09LateCreate: the request for a node arrives after the owner has given up.
//
// Row 9 (zklock): a node that is created late is deleted. Fails if nothing is deleted in
// the background.
func TestRow09LateCreate(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr, zklock.WithOpTimeout(shortTimeout))
	const key = "late-create"
	keepParent(t, admin, key) // so that the counter of its children continues
	mustWork(t, b, key)
	eventually(t, patience, "no node is left", func() bool { return len(children(t, admin, parentOf(key))) == 0 })
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
	// Two changes: the node was created and deleted.
	eventually(t, patience, "the late node was deleted", func() bool {
		_, stat, err := admin.Exists(parentOf(key))
		return err == nil && stat.Cversion == before.Cversion+2 && stat.NumChildren == 0
	})
	mustWork(t, b, key)
}

// TestLostReleaseReply: a release without an answer continues in the background.
func TestLostReleaseReply(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, n := overNetwork(t, addr, zklock.WithOpTimeout(shortTimeout))
	const key = "lost-release"
	g := tryRepeatedly(t, b, request(key))
	n.Cut()
	if err := b.Release(context.Background(), g); err == nil {
		t.Error("Release without a reply succeeds")
	}
	n.Kill()
	eventually(t, patience, "the node is deleted", func() bool { return len(children(t, admin, parentOf(key))) == 0 })
	releaseRepeatedly(t, b, g)
}

// TestOwnOrphan: an owner does not wait for its own node from a session that is dead and
// that the server still knows.
func TestOwnOrphan(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b := newBackend(t, []string{addr})
	const key = "orphan"
	keepParent(t, admin, key)
	r := request(key)
	plant(t, admin, parentOf(key)+"/_c_"+r.Owner+"-lock-", zk.FlagEphemeralSequential)
	g := mustAcquire(t, b, r)
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

// TestNodeDeleted: an operator deletes nodes. The renewal of a holder without a node is
// Lost, and a waiter without a node does not get the key but joins the queue again.
func TestNodeDeleted(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, other := newBackend(t, []string{addr}), newBackend(t, []string{addr})
	const key = "deleted"
	g := mustAcquire(t, b, request(key))
	first := startWaiter(t, b, request(key))
	eventually(t, patience, "it is in the queue", func() bool { return len(children(t, admin, parentOf(key))) == 2 })
	second := startWaiter(t, other, request(key))
	eventually(t, patience, "it is in the queue", func() bool { return len(children(t, admin, parentOf(key))) == 3 })
	names := byNumber(children(t, admin, parentOf(key)))

	// The first waiter's node: neither waiter gets the key.
	if err := admin.Delete(parentOf(key)+"/"+names[1], -1); err != nil {
		t.Fatal(err)
	}
	if s := renewed(t, b, g); s.Status != driver.Renewed {
		t.Errorf("the holder is %v", s)
	}
	first.mustWait(t)
	second.mustWait(t)
	// The holder's node: the second waiter gets the key.
	if err := admin.Delete(parentOf(key)+"/"+names[0], -1); err != nil {
		t.Fatal(err)
	}
	g2 := second.served(t)
	if s := renewed(t, b, g); s.Status != driver.Lost {
		t.Errorf("the holder without a node is %v", s)
	}
	if err := b.Release(context.Background(), g); !errors.Is(err, driver.ErrLost) {
		t.Errorf("Release by the holder without a node: %v", err)
	}
	first.mustWait(t)
	mustRelease(t, other, g2)
	first.cancel()
	<-first.done
	_ = b.Release(context.Background(), first.request.Grant())
	mustRelease(t, b, mustAcquire(t, b, request(key)))
}

// TestStolenName: the nodes of a holder and of a waiter are replaced by nodes of another
// session with the same names. Those do not count as their locks.
func TestStolenName(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, other := newBackend(t, []string{addr}), newBackend(t, []string{addr})
	const key = "stolen"
	g := mustAcquire(t, other, request(key))
	r := request(key)
	r.Backoff = driver.NewBackoff(20*time.Millisecond, 0)
	w := startWaiter(t, b, r)
	eventually(t, patience, "it is in the queue", func() bool { return len(children(t, admin, parentOf(key))) == 2 })
	steal := func(name string) string {
		path := parentOf(key) + "/" + name
		_, err := admin.Multi(&zk.DeleteRequest{Path: path, Version: -1},
			&zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	names := byNumber(children(t, admin, parentOf(key)))
	stolen := steal(names[1])
	eventually(t, patience, "the waiter has a new node", func() bool {
		exists, _, err := admin.Exists(stolen)
		return err == nil && !exists && len(children(t, admin, parentOf(key))) == 2
	})
	w.mustWait(t)
	steal(names[0])
	if s := renewed(t, other, g); s.Status != driver.Lost {
		t.Errorf("the holder whose node belongs to another session is %v", s)
	}
	mustRelease(t, b, w.served(t))
	eventually(t, patience, "no node is left", func() bool { return len(children(t, admin, parentOf(key))) == 0 })
}

// TestOverflow: calls fail when the sequence numbers are used up.
func TestOverflow(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
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

// failing is a connection that fails at the next write of credentials if it is armed.
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

// TestCredentialsNotWritten: a new connection breaks when the credentials are repeated on
// it. Without our Write go-zookeeper 1.0.4 would hang.
func TestCredentialsNotWritten(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	n, armed := new(spoilnet.Network), new(atomic.Bool)
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := n.DialTimeout(network, address, timeout)
		return failing{c, armed}, err
	}
	b := newBackend(t, []string{addr}, zklock.WithDialer(dial), zklock.WithDigest("shop", "secret"),
		zklock.WithRoot("/credentials"), zklock.WithOpTimeout(5*time.Second))
	drain(t, b)
	g := mustAcquire(t, b, request("key"))
	armed.Store(true)
	n.Kill()
	eventually(t, patience, "it is renewed", func() bool { return renewed(t, b, g).Status == driver.Renewed })
	if armed.Load() {
		t.Error("the credentials were not repeated: the test proves nothing")
	}
	mustRelease(t, b, g)
}

// drowsy is a connection to a server that overlooks the creation of a node until the next
// request comes.
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

// TestDrowsyServer: the server finds a request only when the next one comes, as ZooKeeper
// 3.8.0 does if its CommitProcessor misses that it was woken.
func TestDrowsyServer(t *testing.T) {
	t.Parallel()
	addr, overlooked := shared.Server(t).Addr(), new(atomic.Int32)
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, address, timeout)
		return &drowsy{Conn: c, overlooked: overlooked}, err
	}
	b := newBackend(t, []string{addr}, zklock.WithDialer(dial), zklock.WithOpTimeout(patience))
	mustRelease(t, b, mustAcquire(t, b, request("drowsy")))
	if overlooked.Load() == 0 {
		t.Error("the server overlooked nothing: the test proves nothing")
	}
}
