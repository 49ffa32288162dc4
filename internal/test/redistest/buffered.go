package redistest

import (
	"net"
	"sync"
)

// bufferedConn passes on what is written on another goroutine. A subscription that
// changes needs that: go-redis does not receive while it writes, and the server does
// not read while it writes. The goroutine is there only while there is something to
// pass on: go-redis may forget a connection without closing it.
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
