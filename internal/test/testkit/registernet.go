package testkit

import (
	"encoding/json"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// NetRegister is a resource that refuses old tokens. Other processes use it over the
// network. For each key it accepts a write or a read if the token is not below the largest
// that it has accepted for a write.
type NetRegister struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu      sync.Mutex
	largest map[string]uint64
	log     []Use
	conns   map[net.Conn]bool
	closed  bool
}

// Use is a write or a read of a [NetRegister], and its result.
type Use struct {
	ID    string // chosen by the caller, for the log
	Key   string
	Token uint64
	Reads bool

	At       time.Time `json:"-"` // on the register's clock
	Accepted bool      `json:"-"`
}

// NewNetRegister starts a register, which is closed at the end of the test.
func NewNetRegister(tb testing.TB) *NetRegister {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r := &NetRegister{listener: l, largest: make(map[string]uint64), conns: make(map[net.Conn]bool)}
	r.serving.Go(r.accept)
	tb.Cleanup(r.Close)
	return r
}

// Addr returns the address for [DialRegister].
func (r *NetRegister) Addr() string { return r.listener.Addr().String() }

// Use reports whether the register accepts a use.
func (r *NetRegister) Use(u Use) (accepted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u.At, u.Accepted = time.Now(), u.Token >= r.largest[u.Key]
	if u.Accepted && !u.Reads {
		r.largest[u.Key] = u.Token
	}
	r.log = append(r.log, u)
	return u.Accepted
}

// Log returns all uses so far, in order.
func (r *NetRegister) Log() []Use {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.log)
}

// Close closes the register. When it returns, all earlier uses are in the log.
func (r *NetRegister) Close() {
	r.mu.Lock()
	r.closed = true
	_ = r.listener.Close()
	for c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.serving.Wait()
}

func (r *NetRegister) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		if r.closed {
			_ = c.Close()
		}
		r.conns[c] = true
		r.mu.Unlock()
		r.serving.Go(func() { r.serve(c) })
	}
}

func (r *NetRegister) serve(c net.Conn) {
	defer c.Close() //nolint:errcheck // nothing is lost
	in, out := json.NewDecoder(c), json.NewEncoder(c)
	for {
		var u Use
		if in.Decode(&u) != nil || out.Encode(r.Use(u)) != nil {
			return
		}
	}
}

// RegisterConn is a connection to a register in another process. It is safe for concurrent
// use.
type RegisterConn struct {
	conn net.Conn

	mu  sync.Mutex
	in  *json.Decoder
	out *json.Encoder
}

// DialRegister connects to the register at addr.
func DialRegister(addr string) (*RegisterConn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &RegisterConn{conn: c, in: json.NewDecoder(c), out: json.NewEncoder(c)}, nil
}

// Use reports whether the register accepts a use. With an error, the register may have
// accepted it.
func (c *RegisterConn) Use(u Use) (accepted bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err = c.out.Encode(u); err == nil {
		err = c.in.Decode(&accepted)
	}
	return accepted, err
}

// Close closes the connection.
func (c *RegisterConn) Close() error { return c.conn.Close() }
