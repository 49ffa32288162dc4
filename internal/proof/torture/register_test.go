package torture

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// register is the resource that the locks protect. For each key it accepts a write or a
// read if the token is not smaller than the largest that it has accepted for a write.
// It is in the process that injects the faults, and has none itself.
type register struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu      sync.Mutex
	largest map[int]uint64
	log     map[useID]used
	conns   map[net.Conn]struct{}
	closed  bool
}

type useID struct {
	proc string
	id   uint64
}

// used is the result of a write or a read, and its time.
type used struct {
	time     int64
	accepted bool
}

func startRegister(tb testing.TB) *register {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r := &register{
		listener: l,
		largest:  make(map[int]uint64), log: make(map[useID]used), conns: make(map[net.Conn]struct{}),
	}
	r.serving.Go(r.accept)
	tb.Cleanup(r.close)
	return r
}

func (r *register) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		if r.closed {
			_ = c.Close()
		}
		r.conns[c] = struct{}{}
		r.mu.Unlock()
		r.serving.Go(func() { r.serve(c) })
	}
}

func (r *register) serve(c net.Conn) {
	defer c.Close()
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		var id useID
		var key int
		var token uint64
		var reads bool
		if _, err := fmt.Sscan(lines.Text(), &id.proc, &id.id, &key, &token, &reads); err != nil {
			return
		}
		if _, err := fmt.Fprintln(c, r.use(id, key, token, reads)); err != nil {
			return
		}
	}
}

func (r *register) use(id useID, key int, token uint64, reads bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	accepted := token >= r.largest[key]
	if accepted && !reads {
		r.largest[key] = token
	}
	r.log[id] = used{now(), accepted}
	return accepted
}

// close returns after all earlier requests have been processed.
func (r *register) close() {
	r.mu.Lock()
	r.closed = true
	_ = r.listener.Close()
	for c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.serving.Wait()
}

// registerClient is one worker's connection.
type registerClient struct {
	conn    net.Conn
	answers *bufio.Scanner
}

func dialRegister(addr string) (*registerClient, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &registerClient{c, bufio.NewScanner(c)}, nil
}

func (c *registerClient) use(id useID, key int, token uint64, reads bool) (accepted bool, err error) {
	if _, err := fmt.Fprintln(c.conn, id.proc, id.id, key, token, reads); err != nil {
		return false, err
	}
	if !c.answers.Scan() {
		return false, fmt.Errorf("the register is gone: %w", c.answers.Err())
	}
	return strings.TrimSpace(c.answers.Text()) == "true", nil
}
