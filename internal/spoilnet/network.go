// Package spoilnet spoils the network between a client and its servers, for tests
// of what a client does then: connections that go dead without a word, requests
// that arrive late, replies that never do. Only tests use it.
package spoilnet

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// ErrRefused is why a [Network] that refuses connections does not open one.
var ErrRefused = errors.New("spoilnet: connection refused")

// Match tells whether what is written to a connection is meant.
type Match func(written []byte) bool

// Network is a dialer whose connections can be spoilt. The zero value dials what
// it is asked for; make one with [To] for another. It is safe for concurrent use.
type Network struct {
	dial func() (net.Conn, error)

	mu       sync.Mutex
	conns    []*conn
	refusing bool
	hanging  bool
	hold     Match
	deafen   Match
}

// To returns a Network whose connections are those that dial opens.
func To(dial func() (net.Conn, error)) *Network { return &Network{dial: dial} }

// TCP returns a Network whose connections all go to addr.
func TCP(addr string) *Network {
	return To(func() (net.Conn, error) { return net.DialTimeout("tcp", addr, 5*time.Second) })
}

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

// Cut cuts the connections that there are without a word, as a firewall does: what
// is written vanishes, and nothing comes.
func (n *Network) Cut() { n.each(func(c *conn) { c.cut = true }) }

// Hang cuts the connections that there are and those to come, until it is called
// with false.
func (n *Network) Hang(on bool) {
	n.mu.Lock()
	n.hanging = on
	n.mu.Unlock()
	if on {
		n.Cut()
	}
}

// Refuse has no new connections opened, until it is called with false.
func (n *Network) Refuse(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refusing = on
}

// Kill ends the connections that there are, as a server does that dies.
func (n *Network) Kill() { n.closeWhere(func(*conn) bool { return true }) }

// CloseCut ends the connections that were cut.
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

// Deafen loses what is answered on the connections that there are; what is written
// goes through.
func (n *Network) Deafen() { n.each(func(c *conn) { c.deaf = true }) }

// DeafenAt loses what is answered to the next write that matches, and all that
// comes later on its connection: the write goes through.
func (n *Network) DeafenAt(m Match) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.deafen = m
}

// Deaf returns how many connections lose what is answered.
func (n *Network) Deaf() (count int) {
	n.each(func(c *conn) {
		if c.deaf {
			count++
		}
	})
	return count
}

// HoldAt keeps back the next write that matches, and what is written to its
// connection later, as a network does that has lost a packet: even after it is
// closed.
func (n *Network) HoldAt(m Match) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hold = m
}

// Held returns how many connections have something kept back.
func (n *Network) Held() (count int) {
	n.each(func(c *conn) {
		if len(c.kept) > 0 {
			count++
		}
	})
	return count
}

// Deliver sends what was kept back.
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

// meant reports what is to become of a write, once for each call of HoldAt and
// DeafenAt.
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
