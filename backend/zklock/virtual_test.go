package zklock_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// virtual is a Backend in a bubble, with the server and the network of its connections.
type virtual struct {
	*zklock.Backend
	server  *fakeServer
	network *spoilnet.Network
	gate    locked[func(written []byte) error] // of all writes; nil if there is none
}

// inVirtualTime runs f in a bubble. The Backend knows two servers, so that the client
// library does not wait between two connections. It has had a lock before.
func inVirtualTime(t *testing.T, f func(t *testing.T, v *virtual), config ...zklock.Config) {
	t.Helper()
	t.Parallel()
	failFast(t, time.Minute)
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(t, new(fakeServer), config...)
		mustWork(t, v.Backend, "first")
		time.Sleep(1500 * time.Millisecond) // after a short connection the library waits before the next
		f(t, v)
	})
}

func newVirtual(t *testing.T, server *fakeServer, config ...zklock.Config) *virtual {
	t.Helper()
	v := &virtual{server: server, network: spoilnet.To(server.Dial)}
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := v.network.DialTimeout(network, address, timeout)
		return gatedConn{c, &v.gate}, err
	}
	c := append(config, zklock.Config{})[0]
	c.Dialer, c.SessionTimeout, c.OpTimeout = dial, cmp.Or(c.SessionTimeout, 20*time.Second), cmp.Or(c.OpTimeout, 2*time.Second)
	v.Backend = newBackend(t, []string{"10.0.0.1:1", "10.0.0.2:1"}, c)
	return v
}

// newSession ends the session. The server still shows its nodes.
func (v *virtual) newSession() {
	v.server.Expire(true)
	v.server.Kill()
	synctest.Wait()
}

// tryInDoubt makes an attempt that gets no answer, because of the fate of the owner's
// node.
func (v *virtual) tryInDoubt(t *testing.T, r driver.Request, answer fate) {
	t.Helper()
	v.server.On(opCreate, func(path string) fate {
		if strings.Contains(path, r.Owner[:len(guid)]) {
			return answer
		}
		return served
	})
	if _, err := v.TryAcquire(t.Context(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Fatalf("TryAcquire without an answer: %v", err)
	}
	v.server.ServeAll()
	v.network.Kill() // the calls that are in flight end
}

// mustBeEmpty checks that nothing is left of a key.
func (v *virtual) mustBeEmpty(t *testing.T, key string) {
	t.Helper()
	if left := v.server.Children(parentOf(key)); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// gatedConn is a connection whose writes pass a gate.
type gatedConn struct {
	net.Conn
	gate *locked[func(written []byte) error]
}

func (c gatedConn) Write(p []byte) (int, error) {
	if gate := c.gate.get(); gate != nil {
		if err := gate(p); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// acrossSessions calls f so that its first request is written in the next session,
// although f has seen the session before: the client blocks at writing a request before
// that.
func (v *virtual) acrossSessions(f func()) {
	gate := make(chan struct{})
	v.gate.set(func([]byte) error {
		<-gate
		return nil
	})
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
	v.gate.set(nil)
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
