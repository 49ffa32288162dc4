package locktest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// Network lies between a backend and its servers. It forwards bytes, whatever they mean, and
// the suite makes it lose or delay some. The zero value has no faults. It is safe for
// concurrent use.
type Network struct {
	faults spoilnet.Network
	addrs  sync.Map // that the client knows
}

// DialFunc opens a connection, as [net.Dialer.DialContext] does.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// DialContext opens a connection. It is for clients that have a dialer as an option.
func (n *Network) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	n.addrs.Store(addr, true)
	return n.faults.DialContext(ctx, network, addr)
}

// To returns a function that opens connections to one server with dial. It is for servers
// that have no address, such as one in the memory of the test.
func (n *Network) To(dial DialFunc) DialFunc {
	server := &dial
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.addrs.Store(addr, true)
		return n.faults.DialWith(server, func() (net.Conn, error) { return dial(ctx, network, addr) })
	}
}

// Listen returns the address of a proxy in front of the server at addr, on TCP. It is for
// clients that take an address and nothing else. The proxy ends with the test.
func (n *Network) Listen(t testing.TB, addr string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("a proxy in front of %s: %v", addr, err)
	}
	ctx := context.WithoutCancel(t.Context())
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { n.forward(ctx, client, addr) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		n.faults.Kill()
		open.Wait()
	})
	n.addrs.Store(l.Addr().String(), true)
	return l.Addr().String()
}

// forward connects a client to the server until one of them closes its connection.
func (n *Network) forward(ctx context.Context, client net.Conn, addr string) {
	server, err := n.DialContext(ctx, "tcp", addr)
	if err != nil {
		_ = client.Close()
		return
	}
	var both sync.WaitGroup
	for to, from := range map[net.Conn]net.Conn{server: client, client: server} {
		both.Go(func() {
			_, _ = io.Copy(to, from)
			_ = errors.Join(server.Close(), client.Close())
		})
	}
	both.Wait()
}

// heal ends all faults. The connections that had one break.
func (n *Network) heal() {
	n.faults.At(0, nil)
	n.faults.Hang(false)
	n.faults.Refuse(false)
	_ = n.faults.Deliver() // the server may have closed the connection
	n.faults.Break()
}
