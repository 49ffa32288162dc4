//go:build unix

package rediskit

import (
	"errors"
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
	return &eagerConn{Conn: c, raw: raw, sleepy: sleepy}
}

// SyscallConn implements [syscall.Conn]. go-redis looks with it whether the connection
// is alive.
func (c *eagerConn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }

func (c *eagerConn) Read(p []byte) (n int, err error) {
	start := time.Now()
	if c.near && !c.sleepy.Load() {
		for time.Since(start) < eagerFor {
			if n, err = c.try(p); !errors.Is(err, syscall.EAGAIN) {
				return n, err
			}
			runtime.Gosched()
		}
	}
	n, err = c.Conn.Read(p)
	c.near = time.Since(start) < 3*eagerFor // with the time to wake up
	return n, err
}

// try reads what is there. It returns EAGAIN if that is nothing.
func (c *eagerConn) try(p []byte) (n int, err error) {
	n, err = 0, syscall.EAGAIN
	failed := c.raw.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), p)
		return true
	})
	switch {
	case failed != nil: // closed, or past its deadline
		return 0, failed
	case n > 0:
		return n, nil
	default: // the end, or an error: Read of the connection reports it
		return 0, syscall.EAGAIN
	}
}
