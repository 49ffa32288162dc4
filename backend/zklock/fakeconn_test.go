package zklock_test

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// fakeConn is a connection of a client.
type fakeConn struct {
	v       *fakeServer
	conn    net.Conn
	session int64
	timeout time.Duration

	mu     sync.Mutex
	out    []packet
	wake   chan struct{}
	closed chan struct{}
}

func (c *fakeConn) send(p packet) { c.add(packet{}.withBytes(p)) }

// add has a packet written after the others; nil closes the connection.
func (c *fakeConn) add(p packet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, p)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *fakeConn) write() {
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

func (c *fakeConn) read() {
	defer close(c.closed)
	defer c.conn.Close()
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
func (c *fakeConn) serve(p packet, first bool) bool {
	v := c.v
	if first {
		if v.on(opConnect, "") != served {
			return false
		}
		_, _ = p.int32(), p.int64()
		timeout := min(max(p.int32(), 400), 600_000) // what it agrees to
		c.timeout = time.Duration(timeout) * time.Millisecond
		c.session = v.connect(c, p.int64(), c.timeout)
		c.send(packet{}.with32(0).with32(timeout).with64(c.session).withBytes(make([]byte, 16)))
		if c.session == 0 {
			c.add(nil)
		}
		return true
	}
	xid, op := p.int32(), p.int32()
	name := ""
	switch arguments := p; op {
	case opSetAuth:
		_, _ = arguments.int32(), arguments.text()
		name = arguments.text()
	case opPing, opSetWatches, opClose:
	case opMulti:
		arguments.take(9) // the header of the first operation
		name = arguments.text()
	default:
		name = arguments.text()
	}
	fate := v.on(op, name)
	v.mu.Lock()
	defer v.mu.Unlock()
	if t := v.sessions[c.session]; t == nil || v.owners[c.session] != c {
		return false
	} else if op != opClose {
		t.Reset(c.timeout)
	}
	switch fate {
	case dropped:
		return true
	case hungUp:
		return false
	case postponed:
		v.deferred = append(v.deferred, func() { v.execute(c, op, p) })
		return true
	}
	if op == opSync {
		for _, f := range v.deferred {
			f()
		}
		v.deferred = nil
	}
	body, code := packet(nil), int32(codeNoAuth)
	if fate != denied {
		body, code = v.execute(c, op, p)
	}
	if fate != muted {
		c.send(append(packet{}.with32(xid).with64(v.zxid).with32(code), body...))
	}
	if op == opClose {
		v.expire(c.session, false)
	}
	return true
}

// packet is the rest of a packet that is read from the front, or a packet that is
// written at the end.
type packet []byte

func (p *packet) take(n int) []byte {
	n = min(max(n, 0), len(*p))
	b := (*p)[:n]
	*p = (*p)[n:]
	return b
}

func (p *packet) int32() int32 {
	b := append(slices.Clone(p.take(4)), 0, 0, 0, 0)
	return int32(binary.BigEndian.Uint32(b))
}

func (p *packet) int64() int64 { return int64(p.int32())<<32 | int64(uint32(p.int32())) }

func (p *packet) bytes() []byte { return slices.Clone(p.take(int(p.int32()))) }

func (p *packet) text() string { return string(p.bytes()) }

func (p *packet) bool() bool { return slices.Equal(p.take(1), []byte{1}) }

func (p *packet) texts() (all []string) {
	for range p.int32() {
		all = append(all, p.text())
	}
	return all
}

func (p packet) with32(v int32) packet { return binary.BigEndian.AppendUint32(p, uint32(v)) }

func (p packet) with64(v int64) packet { return binary.BigEndian.AppendUint64(p, uint64(v)) }

func (p packet) withBytes(b []byte) packet { return append(p.with32(int32(len(b))), b...) }
