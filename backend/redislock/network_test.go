package redislock_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// network is a dialer whose connections can be spoiled.
type network struct {
	dial func() (net.Conn, error)

	holdNext atomic.Bool
	hanging  atomic.Bool

	mu    sync.Mutex
	conns []*spoiltConn
}

func tcp(addr string) *network {
	return &network{dial: func() (net.Conn, error) { return net.Dial("tcp", addr) }}
}

// Dial fits redis.Options.
func (n *network) Dial(context.Context, string, string) (net.Conn, error) {
	c, err := n.dial()
	if err != nil {
		return nil, err
	}
	sc := &spoiltConn{Conn: c, network: n, closed: make(chan struct{}), cut: n.hanging.Load()}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = append(n.conns, sc)
	return sc, nil
}

func (n *network) each(f func(c *spoiltConn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.mu.Lock()
		f(c)
		c.mu.Unlock()
	}
}

// cut cuts the connections that there are without a word, as a firewall does:
// what is written vanishes, and nothing comes.
func (n *network) cut() { n.each(func(c *spoiltConn) { c.cut = true }) }

// hang cuts the connections that there are and those to come, until it is called
// with false.
func (n *network) hang(on bool) {
	n.hanging.Store(on)
	if on {
		n.cut()
	}
}

// close ends the connections that were cut.
func (n *network) close() {
	n.mu.Lock()
	conns := slices.Clone(n.conns)
	n.mu.Unlock()
	for _, c := range conns {
		if c.isCut() {
			_ = c.Close()
		}
	}
}

// hold keeps back the next script call, and what is written to its connection
// later, as a network does that has lost a packet: even after it is closed.
func (n *network) hold() { n.holdNext.Store(true) }

// waiting returns how many connections have something kept back.
func (n *network) waiting() (count int) {
	n.each(func(c *spoiltConn) {
		if len(c.kept) > 0 {
			count++
		}
	})
	return count
}

// deliver sends what was kept back.
func (n *network) deliver() (err error) {
	n.each(func(c *spoiltConn) {
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

type spoiltConn struct {
	net.Conn
	network *network
	closed  chan struct{}

	mu                 sync.Mutex
	cut, held, closing bool
	kept               []byte
}

func (c *spoiltConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.isCut() && !errors.Is(err, os.ErrDeadlineExceeded) {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *spoiltConn) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

func (c *spoiltConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Contains(p, []byte("evalsha")) && c.network.holdNext.CompareAndSwap(true, false) {
		c.held = true
	}
	switch {
	case c.cut:
		return len(p), nil
	case c.held:
		c.kept = append(c.kept, p...)
		return len(p), nil
	default:
		return c.Conn.Write(p)
	}
}

func (c *spoiltConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return net.ErrClosed
	}
	c.closing = true
	close(c.closed)
	if len(c.kept) > 0 {
		return nil // the rest of it still arrives
	}
	return c.Conn.Close()
}
