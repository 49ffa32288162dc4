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
	mu    sync.Mutex
	lines []*spoilnet.Network // one for each server
	to    map[string]DialFunc // by address
	hung  bool
	count func() spoilnet.Match // of the fault to come, for one line; nil if none is
	fault spoilnet.Fault
}

// DialFunc opens a connection, as [net.Dialer.DialContext] does.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// DialContext opens a connection. It is for clients that have a dialer as an option.
func (n *Network) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	dial, known := n.to[addr]
	if !known {
		dial = n.line(new(net.Dialer).DialContext)
		if n.to == nil {
			n.to = make(map[string]DialFunc)
		}
		n.to[addr] = dial
	}
	n.mu.Unlock()
	return dial(ctx, network, addr)
}

// To returns a function that opens connections to one server with dial. It is for servers
// that have no address, such as one in the memory of the test.
func (n *Network) To(dial DialFunc) DialFunc {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.line(dial)
}

func (n *Network) line(dial DialFunc) DialFunc {
	line := new(spoilnet.Network)
	n.lines = append(n.lines, line)
	line.Hang(n.hung)
	if n.count != nil {
		line.At(n.fault, n.count())
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		return line.DialWith(func() (net.Conn, error) { return dial(ctx, network, addr) })
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
		n.each((*spoilnet.Network).Kill)
		open.Wait()
	})
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

// at makes a fault happen at the k-th write to each server from now on.
func (n *Network) at(f spoilnet.Fault, k int) {
	n.arm(f, func() spoilnet.Match {
		written := 0
		return func([]byte) bool { written++; return written == k }
	})
}

func (n *Network) arm(f spoilnet.Fault, count func() spoilnet.Match) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fault, n.count = f, count
	for _, line := range n.lines {
		var m spoilnet.Match
		if count != nil {
			m = count()
		}
		line.At(f, m)
	}
}

func (n *Network) each(f func(line *spoilnet.Network)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.lines {
		f(line)
	}
}

// struck returns how many faults have happened.
func (n *Network) struck() (faults int) {
	n.each(func(line *spoilnet.Network) { faults += line.Struck() })
	return faults
}

// deliver lets arrive what was delayed.
func (n *Network) deliver() {
	n.each(func(line *spoilnet.Network) { _ = line.Send() }) // the server may have closed the connection
}

// hang makes the connections silent, and those that are opened until it is healed.
func (n *Network) hang() {
	n.mu.Lock()
	n.hung = true
	n.mu.Unlock()
	n.each(func(line *spoilnet.Network) { line.Hang(true) })
}

// sever breaks all connections, as the end of a server does.
func (n *Network) sever() { n.each((*spoilnet.Network).Sever) }

// refuse makes new connections fail if on is true.
func (n *Network) refuse(on bool) { n.each(func(line *spoilnet.Network) { line.Refuse(on) }) }

// heal ends all faults. The connections that had one break.
func (n *Network) heal() {
	n.arm(0, nil)
	n.mu.Lock()
	n.hung = false
	n.mu.Unlock()
	n.each(func(line *spoilnet.Network) {
		line.Hang(false)
		line.Refuse(false)
		_ = line.Deliver()
		line.Break()
	})
}
