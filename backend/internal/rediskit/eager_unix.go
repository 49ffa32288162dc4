//go:build unix

package rediskit

import (
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// eagerFor is for how long an [eagerConn] asks for an answer before it sleeps. A server
// on the same machine or in the same rack answers within that time.
const eagerFor = 60 * time.Microsecond

// eagerConn is a connection that asks for the next bytes again and again for a short
// time before it sleeps. On a machine with nothing else to do, a processor that sleeps
// takes longer to wake up than a server nearby takes to answer. Other goroutines run
// meanwhile. It does so only if the last answer came about as quickly, so a distant
// server costs nothing.
//
// While it asks, its thread keeps a processor from other processes. See
// [OwnPool.Eager].
//
// Only one goroutine may read at a time.
type eagerConn struct {
	net.Conn
	raw    syscall.RawConn
	near   bool         // the last answer came quickly
	sleepy *atomic.Bool // it must not ask

	// A new function each time would cost memory.
	ask  func(fd uintptr) bool // reads what is there
	into []byte                // where to
	n    int                   // how much; not above 0 if that is nothing, at the end, and after an error
}

// eager returns an eagerConn over c that does not ask while sleepy is set, or c itself
// if the connection below is not one of the operating system, for example under TLS.
func eager(below, c net.Conn, sleepy *atomic.Bool) net.Conn {
	s, ok := below.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return c
	}
	e := &eagerConn{Conn: c, raw: raw, sleepy: sleepy}
	e.ask = func(fd uintptr) bool {
		e.n, _ = syscall.Read(int(fd), e.into)
		return true
	}
	return e
}

// SyscallConn implements [syscall.Conn]. go-redis looks with it whether the connection
// is alive.
func (c *eagerConn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }

func (c *eagerConn) Read(p []byte) (n int, err error) {
	start := time.Now()
	if c.near && !c.sleepy.Load() {
		for c.into = p; time.Since(start) < eagerFor; runtime.Gosched() {
			if err := c.raw.Read(c.ask); err != nil { // closed, or past its deadline
				return 0, err
			}
			if c.n > 0 {
				return c.n, nil
			}
		}
	}
	n, err = c.Conn.Read(p)                 // reports the end, and errors
	c.near = time.Since(start) < 3*eagerFor // with the time to wake up
	return n, err
}
