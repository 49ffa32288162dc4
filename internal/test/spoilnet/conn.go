package spoilnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
)

// conn is a connection with faults.
type conn struct {
	net.Conn
	network *Network
	closed  chan struct{}

	mu                               sync.Mutex
	cut, deaf, held, broken, closing bool
	kept                             []byte
}

// Read returns what was not lost. On a connection that was cut it blocks until the
// connection is closed or the deadline has passed.
func (c *conn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		c.mu.Lock()
		cut, deaf, broken := c.cut, c.deaf, c.broken
		c.mu.Unlock()
		switch {
		case broken:
			return 0, io.EOF
		case cut && !errors.Is(err, os.ErrDeadlineExceeded):
			if err == nil {
				continue // until the deadline, if there is one
			}
			<-c.closed
			return 0, net.ErrClosed
		case !deaf, err != nil:
			return n, err
		}
	}
}

func (c *conn) Write(p []byte) (int, error) {
	if c.lost(p) {
		return len(p), nil
	}
	return c.Conn.Write(p) // Close ends it
}

// lost reports whether written data does not reach the server, or not yet.
func (c *conn) lost(p []byte) bool {
	hold, deafen := c.network.meant(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = c.held || hold
	c.deaf = c.deaf || deafen
	if c.held && !c.cut {
		c.kept = append(c.kept, p...)
	}
	return c.cut || c.held
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
		return nil // the held data still arrives
	}
	return c.Conn.Close()
}

// over reports whether the connection is closed and has no held data.
func (c *conn) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing && len(c.kept) == 0
}
