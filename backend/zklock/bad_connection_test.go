package zklock_test

import (
	"bytes"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

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
	g := testkit.MustTry(t, b, testkit.NewRequest("key"))
	armed.Store(true)
	n.Kill()
	testkit.Eventually(t, "it is renewed", func() bool { return testkit.Renewed(t, b, g).Status == driver.Renewed })
	if armed.Load() {
		t.Error("the credentials were not repeated: the test proves nothing")
	}
	testkit.MustRelease(t, b, g)
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
	testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("drowsy")))
	if overlooked.Load() == 0 {
		t.Error("the server overlooked nothing: the test proves nothing")
	}
}
