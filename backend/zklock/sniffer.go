package zklock

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"time"
)

// sniffer is a connection that reads along what the server says, for the sake of
// what the client library does not tell: the timeout of the session, and which
// transaction created a node.
type sniffer struct {
	net.Conn
	patience time.Duration // with a server that does not answer the first packet
	births   *births
	ended    func(why error) // called once, when the connection has

	once sync.Once

	mu    sync.Mutex
	first bool   // the first packet has been read
	head  []byte // what is wanted of the present packet, after its length
	skip  int    // how much of it there is still to come

	id      int64
	timeout time.Duration
}

// A packet begins with its length. The first one then has the protocol version,
// the timeout in milliseconds and the ID of the session; all others the request's
// number, the transaction's ID and an error. The answer to a creation has the
// node's path after that, and nothing else.
const (
	lengthLen  = 4
	sessionLen = 4 + 4 + 8
	replyLen   = 4 + 8 + 4
	maxReply   = 4096 // longer packets are no answers to a creation
)

func (s *sniffer) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err != nil {
		s.end(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(p[:n])
	return n, err
}

// Write hides its errors: it closes the connection, which says as much. The library
// answers a request whose write has failed, and then once more when it gives up the
// connection; credentials have no room for two answers, and it hangs for ever.
func (s *sniffer) Write(p []byte) (int, error) {
	if _, err := s.Conn.Write(p); err != nil {
		s.end(err)
		_ = s.Close() // may have been closed already
	}
	return len(p), nil
}

// end reports why the connection has ended. Later errors are not reported.
func (s *sniffer) end(why error) { s.once.Do(func() { s.ended(why) }) }

// follow reads what came next.
func (s *sniffer) follow(p []byte) {
	for len(p) > 0 {
		if s.skip == 0 { // the length comes, or the rest of it
			n := min(lengthLen-len(s.head), len(p))
			s.head, p = append(s.head, p[:n]...), p[n:]
			if len(s.head) == lengthLen {
				s.skip = int(binary.BigEndian.Uint32(s.head))
				s.head = s.head[:0]
			}
			continue
		}
		n := min(s.skip, len(p))
		if len(s.head) < maxReply {
			s.head = append(s.head, p[:min(n, maxReply-len(s.head))]...)
		}
		if s.skip -= n; s.skip == 0 {
			s.packet(s.head)
			s.head = s.head[:0]
		}
		p = p[n:]
	}
}

// packet reads the beginning of one.
func (s *sniffer) packet(b []byte) {
	if !s.first {
		s.first = true
		if len(b) >= sessionLen {
			s.timeout = time.Duration(binary.BigEndian.Uint32(b[4:])) * time.Millisecond
			s.id = int64(binary.BigEndian.Uint64(b[8:]))
		}
		return
	}
	if len(b) < replyLen+4 || int(binary.BigEndian.Uint32(b[replyLen:])) != len(b)-replyLen-4 {
		return
	}
	path := b[replyLen+4:]
	if zxid := int64(binary.BigEndian.Uint64(b[4:])); zxid > 0 && bytes.Contains(path, []byte("/"+prefix)) {
		s.births.add(string(path), zxid)
	}
}

// SetReadDeadline sees to it that a server that accepts connections and then says
// nothing is not waited for: the library would for seven session timeouts.
func (s *sniffer) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	fresh := !s.first
	s.mu.Unlock()
	if limit := time.Now().Add(s.patience); fresh && !t.IsZero() && t.After(limit) {
		t = limit
	}
	return s.Conn.SetReadDeadline(t)
}

// session returns what the first packet said; zeros before it has come.
func (s *sniffer) session() (id int64, timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id, s.timeout
}

// births are the transactions that created nodes, from the server's answer until
// the library has passed that on.
type births struct {
	mu     sync.Mutex
	byPath map[string]int64
}

func (b *births) add(path string, zxid int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byPath == nil {
		b.byPath = make(map[string]int64)
	}
	b.byPath[path] = zxid
}

// take returns the transaction that created the node; 0 if it is not known.
func (b *births) take(path string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	zxid := b.byPath[path]
	delete(b.byPath, path)
	return zxid
}
