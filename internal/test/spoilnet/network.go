// Package spoilnet injects faults into the network between a client and its servers:
// connections that fail silently, requests that arrive late, replies that are lost.
// Only tests use it. A new fault of the network goes here, whichever product it is for.
package spoilnet

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// ErrRefused is the error of a [Network] that refuses connections.
var ErrRefused = errors.New("spoilnet: connection refused")

// Match reports whether a fault applies to this write.
type Match func(written []byte) bool

// Fault is what happens to a connection from one write on.
type Fault int

// The faults.
const (
	Hold   Fault = iota // writes are delayed until Deliver
	Repeat              // the same, and reads fail: the client may repeat what still arrives
	Lose                // writes are lost, and reads fail
	Deafen              // replies are lost
	Snap                // reads fail when the reply arrives, which is lost
	Delay               // replies are delayed until Deliver
)

// Network is a dialer that can inject faults into its connections. The zero value dials
// the address that it is asked for; [To] returns another. It is safe for concurrent use.
type Network struct {
	dial func() (net.Conn, error)

	mu       sync.Mutex
	conns    []*conn
	refusing bool
	hanging  bool
	next     func(server any, written []byte) bool // nil if no fault is to come
	fault    Fault
	struck   int
}

// To returns a Network that opens connections with dial.
func To(dial func() (net.Conn, error)) *Network { return &Network{dial: dial} }

// DialContext opens a connection.
func (n *Network) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return n.DialWith(addr, func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, network, addr) })
}

// DialTimeout opens a connection.
func (n *Network) DialTimeout(network, addr string, timeout time.Duration) (net.Conn, error) {
	return n.DialWith(addr, func() (net.Conn, error) { return net.DialTimeout(network, addr, timeout) })
}

// DialWith opens a connection to a server with dial, unless the Network is one of [To].
func (n *Network) DialWith(server any, dial func() (net.Conn, error)) (net.Conn, error) {
	n.mu.Lock()
	refusing := n.refusing
	n.mu.Unlock()
	if refusing {
		return nil, ErrRefused
	}
	if n.dial != nil {
		dial = n.dial
	}
	c, err := dial()
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = slices.DeleteFunc(n.conns, (*conn).over)
	sc := &conn{Conn: c, network: n, server: server, closed: make(chan struct{}), cut: n.hanging}
	n.conns = append(n.conns, sc)
	return sc, nil
}

func (n *Network) each(f func(c *conn)) {
	n.mu.Lock()
	conns := slices.Clone(n.conns)
	n.mu.Unlock()
	for _, c := range conns {
		c.mu.Lock()
		f(c)
		c.mu.Unlock()
	}
}

// Open returns the number of open connections.
func (n *Network) Open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = slices.DeleteFunc(n.conns, (*conn).over)
	return len(n.conns)
}

// Cut cuts all open connections silently, as a firewall does: written data is lost, and
// nothing arrives.
func (n *Network) Cut() { n.each(func(c *conn) { c.cut = true }) }

// Hang cuts all open and all new connections if on is true. If on is false, new
// connections work again.
func (n *Network) Hang(on bool) {
	n.mu.Lock()
	n.hanging = on
	n.mu.Unlock()
	if on {
		n.Cut()
	}
}

// Refuse makes new connections fail if on is true, or succeed again if it is false.
func (n *Network) Refuse(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refusing = on
}

// Kill closes all open connections, as a server does when it dies.
func (n *Network) Kill() { n.closeWhere(func(*conn) bool { return true }) }

// CloseCut closes the connections that were cut.
func (n *Network) CloseCut() { n.closeWhere(func(c *conn) bool { return c.cut }) }

func (n *Network) closeWhere(which func(c *conn) bool) {
	var chosen []*conn
	n.each(func(c *conn) {
		if which(c) {
			chosen = append(chosen, c)
		}
	})
	for _, c := range chosen {
		_ = c.Close() // it may be closed already
	}
}

// Deafen drops all replies on the open connections. Requests arrive.
func (n *Network) Deafen() { n.each(func(c *conn) { c.deaf = true }) }

// At makes a fault happen at the next write that matches. Each call is for one write; nil is
// for none.
func (n *Network) At(f Fault, m Match) {
	n.arm(f, func(_ any, written []byte) (now bool) {
		if now = m != nil && m(written); now {
			m = nil
		}
		return now
	})
}

// AtEach makes a fault happen at the k-th write to each server from now on.
func (n *Network) AtEach(f Fault, k int) {
	written := make(map[any]int)
	n.arm(f, func(server any, _ []byte) bool { written[server]++; return written[server] == k })
}

func (n *Network) arm(f Fault, next func(server any, written []byte) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fault, n.next = f, next
}

// Struck returns how many faults of At have happened.
func (n *Network) Struck() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.struck
}

// Deaf returns the number of connections that drop replies.
func (n *Network) Deaf() (count int) {
	n.each(func(c *conn) {
		if c.deaf {
			count++
		}
	})
	return count
}

// Held returns the number of connections with delayed writes.
func (n *Network) Held() (count int) {
	n.each(func(c *conn) {
		if len(c.kept) > 0 {
			count++
		}
	})
	return count
}

// Sever breaks all open connections: their reads fail, as if the server had closed them.
func (n *Network) Sever() { n.each((*conn).snap) }

// Break breaks the connections that were cut, or have delayed writes or dropped replies.
// Delayed writes still arrive.
func (n *Network) Break() {
	n.each(func(c *conn) {
		if c.cut || c.deaf || len(c.kept) > 0 {
			c.snap()
		}
	})
}

// Send sends all delayed writes, and lets all delayed replies arrive. Connections that the
// client has closed stay open for the server.
func (n *Network) Send() (err error) {
	n.each(func(c *conn) { err = errors.Join(err, c.deliver()) })
	return err
}

// Deliver is Send, after which the server sees what the client has closed.
func (n *Network) Deliver() error {
	err := n.Send()
	n.each(func(c *conn) {
		if c.closing && !c.shut {
			_ = c.shutDown()
		}
	})
	return err
}

// meant reports whether a fault begins with a write, and which.
func (n *Network) meant(server any, p []byte) (f Fault, struck bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil || !n.next(server, p) {
		return 0, false
	}
	n.struck++
	return n.fault, true
}
