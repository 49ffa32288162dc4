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

// Network is a dialer that can inject faults into its connections. The zero value dials
// the address that it is asked for; [To] returns another. It is safe for concurrent use.
type Network struct {
	dial func() (net.Conn, error)

	mu       sync.Mutex
	conns    []*conn
	refusing bool
	hanging  bool
	hold     Match
	deafen   Match
}

// To returns a Network that opens connections with dial.
func To(dial func() (net.Conn, error)) *Network { return &Network{dial: dial} }

// DialContext opens a connection.
func (n *Network) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return n.open(func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, network, addr) })
}

// DialTimeout opens a connection.
func (n *Network) DialTimeout(network, addr string, timeout time.Duration) (net.Conn, error) {
	return n.open(func() (net.Conn, error) { return net.DialTimeout(network, addr, timeout) })
}

func (n *Network) open(dial func() (net.Conn, error)) (net.Conn, error) {
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
	sc := &conn{Conn: c, network: n, closed: make(chan struct{}), cut: n.hanging}
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

// DeafenAt drops the reply to the next write that matches, and all later replies on
// that connection. The write itself arrives.
func (n *Network) DeafenAt(m Match) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.deafen = m
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

// HoldAt delays the next write that matches, and all later writes on that connection,
// as a network does after it has lost a packet. The connection may be closed meanwhile.
func (n *Network) HoldAt(m Match) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hold = m
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

// Break breaks the connections with delayed writes or dropped replies: their reads fail,
// as if the server had closed them. Delayed writes still arrive.
func (n *Network) Break() {
	n.each(func(c *conn) {
		if c.deaf || len(c.kept) > 0 {
			c.broken = true
			_ = c.SetReadDeadline(time.Unix(1, 0)) // ends the read in progress
		}
	})
}

// Deliver sends all delayed writes.
func (n *Network) Deliver() (err error) {
	n.each(func(c *conn) {
		c.held = false
		if len(c.kept) > 0 {
			_ = c.SetWriteDeadline(time.Time{})
			_, err = c.Conn.Write(c.kept)
			c.kept = nil
		}
		if c.closing {
			_ = c.Conn.Close()
		}
	})
	return err
}

// meant reports which faults apply to a write. Each call of HoldAt and DeafenAt applies
// to one write.
func (n *Network) meant(p []byte) (hold, deafen bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hold != nil && n.hold(p) {
		hold, n.hold = true, nil
	}
	if n.deafen != nil && n.deafen(p) {
		deafen, n.deafen = true, nil
	}
	return hold, deafen
}
