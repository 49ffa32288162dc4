package testkit

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// NetRegister is a resource that refuses old tokens. Other processes use it over the
// network. For each key it accepts a write or a read if the token is not below the largest
// that it has accepted for a write.
type NetRegister struct {
	server *httptest.Server

	mu      sync.Mutex
	largest map[string]uint64
	log     []Use
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
	r := &NetRegister{largest: make(map[string]uint64)}
	r.server = httptest.NewServer(http.HandlerFunc(r.serve))
	tb.Cleanup(r.Close)
	return r
}

// Addr returns the address for [DialRegister].
func (r *NetRegister) Addr() string { return r.server.URL }

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
	r.server.CloseClientConnections()
	r.server.Close()
}

func (r *NetRegister) serve(w http.ResponseWriter, request *http.Request) {
	var u Use
	if err := json.NewDecoder(request.Body).Decode(&u); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(r.Use(u)) // the caller learns of a failure
}

// RegisterConn is a client of a register in another process. It is safe for concurrent use.
type RegisterConn struct {
	client http.Client
	addr   string
}

// DialRegister returns a client of the register at addr.
func DialRegister(addr string) *RegisterConn {
	return &RegisterConn{client: http.Client{Transport: new(http.Transport)}, addr: addr}
}

// Use reports whether the register accepts a use. With an error, the register may have
// accepted it.
func (c *RegisterConn) Use(u Use) (accepted bool, err error) {
	text, err := json.Marshal(u)
	if err != nil {
		return false, err
	}
	answer, err := c.client.Post(c.addr, "application/json", bytes.NewReader(text))
	if err != nil {
		return false, err
	}
	defer answer.Body.Close() //nolint:errcheck // nothing is lost
	err = json.NewDecoder(answer.Body).Decode(&accepted)
	return accepted, err
}

// Close closes the connections.
func (c *RegisterConn) Close() { c.client.CloseIdleConnections() }
