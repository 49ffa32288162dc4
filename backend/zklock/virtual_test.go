package zklock_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// virtual is a Backend in a bubble, with the server and the network of its connections.
type virtual struct {
	*zklock.Backend
	server  *fakeServer
	network *spoilnet.Network
	gate    atomic.Pointer[chan struct{}]
}

// inVirtualTime runs f in a bubble. The Backend knows two servers, so that the client library
// does not wait between two connections. It has had a lock before.
func inVirtualTime(t *testing.T, f func(t *testing.T, v *virtual), opts ...zklock.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(t, new(fakeServer), opts...)
		mustWork(t, v.Backend, "first")
		time.Sleep(2 * time.Second) // after a short connection the library waits before the next
		f(t, v)
	})
}

func newVirtual(t *testing.T, server *fakeServer, opts ...zklock.Option) *virtual {
	t.Helper()
	v := &virtual{server: server, network: spoilnet.To(server.Dial)}
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := v.network.DialTimeout(network, address, timeout)
		return gatedConn{c, &v.gate}, err
	}
	opts = append([]zklock.Option{
		zklock.WithDialer(dial), zklock.WithSessionTimeout(20 * time.Second), zklock.WithOpTimeout(2 * time.Second),
	}, opts...)
	v.Backend = newBackend(t, []string{"10.0.0.1:1", "10.0.0.2:1"}, opts...)
	return v
}

// newSession ends the session. The server still shows its nodes.
func (v *virtual) newSession() {
	v.server.Expire(true)
	v.server.Kill()
	synctest.Wait()
}

// gatedConn is a connection whose writes block while there is a gate.
type gatedConn struct {
	net.Conn
	gate *atomic.Pointer[chan struct{}]
}

func (c gatedConn) Write(p []byte) (int, error) {
	if gate := c.gate.Load(); gate != nil {
		<-*gate
	}
	return c.Conn.Write(p)
}

// acrossSessions calls f so that its first request is written in the next session, although
// f has seen the session before: the client blocks at writing a request before that.
func (v *virtual) acrossSessions(f func()) {
	gate := make(chan struct{})
	v.gate.Store(&gate)
	for range 2 { // the library may give one more to the connection that ends
		go func() { _ = v.Ping(context.Background()) }()
		synctest.Wait()
	}
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	synctest.Wait()
	v.newSession()
	v.gate.Store(nil)
	close(gate)
	<-done
}

// locked is a value that the test and the goroutines of a client or a server use.
type locked[T any] struct {
	mu sync.Mutex
	v  T
}

func (l *locked[T]) set(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.v = v
}

func (l *locked[T]) get() T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.v
}
