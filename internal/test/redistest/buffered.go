package redistest

import (
	"context"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Buffered gives the connections of a [VirtualClient] buffers for what they write, as sockets
// have them. A subscription that changes needs them: go-redis does not receive while it
// writes, and the server does not read while it writes.
func Buffered(o *redis.Options) {
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &bufferedConn{Conn: c}, nil
	}
}

// bufferedConn passes on what is written on another goroutine. It has that goroutine only while
// there is something to pass on: go-redis may forget a connection without closing it.
type bufferedConn struct {
	net.Conn

	mu      sync.Mutex
	buffer  []byte
	sending bool
}

// Write implements [net.Conn]. If the connection does not work, a read tells.
func (c *bufferedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buffer = append(c.buffer, p...)
	if !c.sending {
		c.sending = true
		go c.send()
	}
	return len(p), nil
}

func (c *bufferedConn) send() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.buffer) > 0 {
		p := c.buffer
		c.buffer = nil
		c.mu.Unlock()
		_, err := c.Conn.Write(p)
		c.mu.Lock()
		if err != nil {
			_ = c.Close()
			return // and nothing more is sent
		}
	}
	c.sending = false
}
