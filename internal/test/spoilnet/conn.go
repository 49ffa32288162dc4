package spoilnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// conn is a connection with faults.
type conn struct {
	net.Conn
	network *Network
	server  any // the address, or what else tells it from others
	closed  chan struct{}

	mu       sync.Mutex
	cut      bool      // nothing arrives any more, in either direction
	deaf     bool      // replies are lost
	held     bool      // writes are kept
	late     bool      // replies are kept
	brittle  bool      // the next reply breaks it
	broken   bool      // reads fail
	closing  bool      // the client has closed it
	shut     bool      // the server sees that
	kept     []byte    // of what was written
	replies  []byte    // of what arrived
	deadline time.Time // of the client, for reads
}

// Read returns what was not lost. On a connection that was cut it blocks until the
// connection is closed or the deadline has passed.
func (c *conn) Read(p []byte) (int, error) {
	for {
		if n := c.delayed(p); n > 0 {
			return n, nil
		}
		n, err := c.Conn.Read(p)
		c.mu.Lock()
		if n > 0 && c.brittle {
			c.snap() // further reads fail at once, too
		}
		if n > 0 && c.late {
			c.replies = append(c.replies, p[:n]...)
		}
		cut, lost, broken := c.cut, c.deaf || c.late || len(c.replies) > 0, c.broken
		c.mu.Unlock()
		switch {
		case broken:
			return 0, io.EOF
		case cut && !errors.Is(err, os.ErrDeadlineExceeded):
			if err == nil {
				continue // until the deadline, if there is one
			}
			select { // the server has closed it, which the client does not see
			case <-c.closed:
				return 0, net.ErrClosed
			case <-time.After(10 * time.Millisecond): // perhaps the deadline has passed
			}
		case !lost, err != nil && !c.arrived():
			return n, err
		}
	}
}

// arrived reports whether delayed replies have been delivered.
func (c *conn) arrived() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.late && len(c.replies) > 0
}

// delayed returns the number of bytes of delayed replies that have been delivered, in p.
func (c *conn) delayed(p []byte) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.late && len(c.replies) > 0 {
		n = copy(p, c.replies)
		c.replies = c.replies[n:]
		_ = c.Conn.SetReadDeadline(c.deadline) // deliver has changed it
	}
	return n
}

// past is a deadline that ends a read in progress.
var past = time.Unix(1, 0)

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if c.broken { // snap has set the deadline of the reads
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) Write(p []byte) (int, error) {
	if c.lost(p) {
		return len(p), nil
	}
	return c.Conn.Write(p) // Close ends it
}

// lost reports whether written data does not reach the server, or not yet.
func (c *conn) lost(p []byte) bool {
	fault, struck := c.network.meant(c.server, p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if struck {
		switch fault {
		case Hold:
			c.held = true
		case Repeat:
			c.held = true
			c.snap()
		case Lose:
			c.cut = true
			c.snap()
		case Deafen:
			c.deaf = true
		case Snap:
			c.brittle = true
		case Delay:
			c.late = true
		}
	}
	if c.held && !c.cut {
		c.kept = append(c.kept, p...)
	}
	return c.cut || c.held
}

// snap makes reads fail, as if the server had closed the connection.
func (c *conn) snap() {
	c.broken = true
	_ = c.Conn.SetReadDeadline(past)
}

// deliver sends the delayed writes, and lets the delayed replies arrive.
func (c *conn) deliver() (err error) {
	c.held, c.late = false, false
	if len(c.kept) > 0 {
		_ = c.SetWriteDeadline(time.Time{})
		_, err = c.Conn.Write(c.kept)
		c.kept = nil
	}
	if len(c.replies) > 0 {
		_ = c.Conn.SetReadDeadline(past) // Read goes on
	}
	return err
}

func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return net.ErrClosed
	}
	c.closing = true
	close(c.closed)
	if len(c.kept) > 0 {
		c.snap() // the held data still arrives
		return nil
	}
	return c.shutDown()
}

func (c *conn) shutDown() error {
	c.shut = true
	return c.Conn.Close()
}

// over reports whether the connection is closed on both sides.
func (c *conn) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shut
}
