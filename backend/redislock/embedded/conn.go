package embedded

import (
	"net"
	"sync"
)

// conn is the server's end of a connection. It advances the clock before the server
// reads a command. A goroutine sends the replies: a pipe in memory has no buffer, so a
// server that waited for the client to read would block a client that is still writing
// a pipeline.
type conn struct {
	net.Conn
	clock *clock

	mu     sync.Mutex
	more   *sync.Cond // signals that out has grown or closed is set
	out    []byte
	closed bool
}

func newConn(c net.Conn, clk *clock) *conn {
	sc := &conn{Conn: c, clock: clk}
	sc.more = sync.NewCond(&sc.mu)
	go sc.send()
	return sc
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.clock.advance()
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	c.out = append(c.out, p...)
	c.more.Signal()
	return len(p), nil
}

// Close drops replies that were not sent.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.more.Signal()
	c.mu.Unlock()
	return c.Conn.Close()
}

func (c *conn) send() {
	for {
		c.mu.Lock()
		for len(c.out) == 0 && !c.closed {
			c.more.Wait()
		}
		out, closed := c.out, c.closed
		c.out = nil
		c.mu.Unlock()
		if closed {
			return
		}
		if _, err := c.Conn.Write(out); err != nil {
			_ = c.Close()
			return
		}
	}
}
