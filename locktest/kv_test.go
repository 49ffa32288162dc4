package locktest_test

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"time"
)

// kvServer is a key-value server in memory, with a clock of its own and connections that a
// network of the suite can spoil. It replaces a value on condition of its version.
type kvServer struct {
	ahead time.Duration // of its clock

	mu      sync.Mutex
	rows    map[string]kvRow
	version uint64 // of the last write, to any key
	watches map[chan struct{}]string
}

type kvRow struct {
	Value   []byte
	Version uint64
	Written time.Time
}

// kvRequest is a line from a client.
type kvRequest struct {
	Op      string // get, put or watch
	Key     string
	Value   []byte
	Version uint64 // that the value must have to be replaced
	Blind   bool   // replace any
}

// kvReply is a line from the server.
type kvReply struct {
	kvRow
	Changed bool // the value did not have that version
	Now     time.Time
}

func newKVServer() *kvServer {
	return &kvServer{ahead: time.Hour, rows: make(map[string]kvRow), watches: make(map[chan struct{}]string)}
}

func (s *kvServer) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go s.serve(server)
	return client, nil
}

func (s *kvServer) serve(c net.Conn) {
	defer c.Close()
	in, out := json.NewDecoder(c), json.NewEncoder(c)
	for {
		var q kvRequest
		if in.Decode(&q) != nil {
			return
		}
		if q.Op == "watch" {
			key, gone := q.Key, make(chan struct{})
			go func() {
				defer close(gone)
				_ = in.Decode(&q)
			}()
			s.watch(key, out, gone)
			return
		}
		if out.Encode(s.answer(q)) != nil {
			return
		}
	}
}

func (s *kvServer) answer(q kvRequest) kvReply {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().Add(s.ahead)
	row := s.rows[q.Key]
	if q.Op == "get" {
		return kvReply{kvRow: row, Now: now}
	}
	if row.Version != q.Version && !q.Blind {
		return kvReply{Changed: true, Now: now}
	}
	return kvReply{kvRow: s.put(q.Key, q.Value), Now: now}
}

func (s *kvServer) put(key string, value []byte) kvRow {
	s.version++
	s.rows[key] = kvRow{value, s.version, time.Now().Add(s.ahead)}
	for told, watched := range s.watches {
		if watched == key {
			select {
			case told <- struct{}{}:
			default:
			}
		}
	}
	return s.rows[key]
}

// watch replies at once, after each change of the key, and every second.
func (s *kvServer) watch(key string, out *json.Encoder, gone <-chan struct{}) {
	told := make(chan struct{}, 1)
	s.mu.Lock()
	s.watches[told] = key
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, told)
	}()
	for changed := true; ; {
		if out.Encode(kvReply{Changed: changed}) != nil {
			return
		}
		select {
		case <-told:
			changed = true
		case <-time.After(time.Second):
			changed = false
		case <-gone:
			return
		}
	}
}

// forget deletes the value of a key.
func (s *kvServer) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, nil)
}
