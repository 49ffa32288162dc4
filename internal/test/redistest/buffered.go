package redistest

import (
	"context"
	"net"
	"slices"
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
		b := &bufferedConn{Conn: c, writes: make(chan []byte, 1024), closed: make(chan struct{})}
		go b.write()
		return b, nil
	}
}

// bufferedConn passes on what is written on another goroutine.
type bufferedConn struct {
	net.Conn

	writes chan []byte
	once   sync.Once
	closed chan struct{}
}

func (c *bufferedConn) write() {
	for {
		select {
		case p := <-c.writes:
			if _, err := c.Conn.Write(p); err != nil {
				_ = c.Close() // a read tells
				return
			}
		case <-c.closed:
			return
		}
	}
}

// Write implements [net.Conn].
func (c *bufferedConn) Write(p []byte) (int, error) {
	select {
	case c.writes <- slices.Clone(p):
		return len(p), nil
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

// Close implements [net.Conn].
func (c *bufferedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
