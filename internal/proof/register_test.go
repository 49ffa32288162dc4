package proof_test

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"testing"
)

// register is the resource that a lock protects. It refuses a token that is not larger
// than all tokens before it. Processes use it over the network.
type register struct {
	addr string

	mu      sync.Mutex
	last    uint64
	writes  int // accepted
	refused int
}

func newRegister(tb testing.TB) *register {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r := &register{addr: ln.Addr().String()}
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			all.Go(func() { r.serve(c) })
		}
	})
	tb.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return r
}

func (r *register) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		var op string
		var token uint64
		if _, err := fmt.Fscanln(in, &op, &token); err != nil {
			return
		}
		answer := false
		switch op {
		case "write":
			answer = r.write(token)
		case "last":
			answer = r.isLast(token)
		}
		if _, err := fmt.Fprintln(c, answer); err != nil {
			return
		}
	}
}

// write reports whether the register accepts a write with the token.
func (r *register) write(token uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if token <= r.last {
		r.refused++
		return false
	}
	r.last = token
	r.writes++
	return true
}

// isLast reports whether the last write had the token.
func (r *register) isLast(token uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return token == r.last
}

func (r *register) counts() (writes, refused int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writes, r.refused
}

// remote is a connection to a register in another process.
type remote struct {
	mu sync.Mutex
	c  net.Conn
	in *bufio.Reader
}

func dialRegister(addr string) (*remote, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &remote{c: c, in: bufio.NewReader(c)}, nil
}

func (r *remote) ask(op string, token uint64) (answer bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err = fmt.Fprintln(r.c, op, token); err == nil {
		_, err = fmt.Fscanln(r.in, &answer)
	}
	return answer, err
}
