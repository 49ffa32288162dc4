package zktest

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"
)

// virtualConn is a connection of a client.
type virtualConn struct {
	v       *Virtual
	conn    net.Conn
	session int64
	timeout time.Duration

	mu     sync.Mutex
	out    []packet
	wake   chan struct{}
	closed chan struct{}
}

func (c *virtualConn) send(p packet) { c.add(packet{}.withBytes(p)) }

// add adds a packet to those that are to be written; nil closes the connection.
func (c *virtualConn) add(p packet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, p)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *virtualConn) write() {
	for {
		c.mu.Lock()
		out := c.out
		c.out = nil
		c.mu.Unlock()
		for _, p := range out {
			if p == nil {
				_ = c.conn.Close() // the reader ends
			}
			if _, err := c.conn.Write(p); err != nil {
				return
			}
		}
		select {
		case <-c.wake:
		case <-c.closed:
			return
		}
	}
}

func (c *virtualConn) read() {
	defer close(c.closed)
	defer c.conn.Close() //nolint:errcheck // nothing is lost
	for first := true; ; first = false {
		var length [4]byte
		if _, err := io.ReadFull(c.conn, length[:]); err != nil {
			return
		}
		p := make(packet, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(c.conn, p); err != nil {
			return
		}
		if !c.serve(p, first) {
			return
		}
	}
}

// serve serves a request. It returns false if the connection is to be closed.
func (c *virtualConn) serve(p packet, first bool) bool {
	v := c.v
	if first {
		if v.on(OpConnect, "") != Serve {
			return false
		}
		_, _ = p.int32(), p.int64()
		timeout := p.int32()
		c.timeout = time.Duration(timeout) * time.Millisecond
		c.session = v.connect(p.int64(), c.timeout)
		c.send(packet{}.with32(0).with32(timeout).with64(c.session).withBytes(make([]byte, 16)))
		if c.session == 0 {
			c.add(nil)
		}
		return true
	}
	xid, op := p.int32(), p.int32()
	name := ""
	switch arguments := p; op {
	case OpSetAuth:
		_, _ = arguments.int32(), arguments.text()
		name = arguments.text()
	case OpPing, opSetWatches, opClose:
	default:
		name = arguments.text()
	}
	fate := v.on(op, name)
	v.mu.Lock()
	defer v.mu.Unlock()
	if t := v.sessions[c.session]; t == nil {
		return false
	} else if op != opClose {
		t.Reset(c.timeout)
	}
	switch fate {
	case Drop:
		return true
	case HangUp:
		return false
	case Defer:
		v.deferred = append(v.deferred, func() { v.execute(c, op, p) })
		return true
	}
	if op == OpSync {
		for _, f := range v.deferred {
			f()
		}
		v.deferred = nil
	}
	body, code := v.execute(c, op, p)
	if fate != Mute {
		c.send(append(packet{}.with32(xid).with64(v.zxid).with32(code), body...))
	}
	if op == opClose {
		v.expire(c.session, false)
	}
	return true
}
