package zklock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// sniffer is a connection that also parses what the server sends, for two values that the
// client library does not return: the session's timeout, and the ID of the transaction
// that created a node. It also lets requests set watches that the library does not keep:
// they end with the connection. And it puts the credentials of the connection into requests
// for authentication, because the library repeats those that it was given first.
type sniffer struct {
	net.Conn
	auth        []byte        // the credentials
	patience    time.Duration // how long to wait for the first packet
	createZxids *createZxids
	wantsWatch  func(path string) bool // whether a request for the metadata of a node shall set a watch
	onEnd       func(why error)        // called once, when the connection has ended

	once sync.Once

	mu     sync.Mutex
	first  bool   // the first packet has been read
	packet []byte // the wanted part of the present packet, or of its length
	rest   int    // how many bytes of the packet are still to come

	id      int64
	timeout time.Duration
}

// A packet begins with its length. The first packet contains the protocol version, the
// timeout in milliseconds and the ID of the session. Every other packet begins with the
// number of the request, the ID of the transaction and an error. In the reply to a
// creation, the path of the node and nothing else follows.
const (
	lengthLen  = 4
	sessionLen = 4 + 4 + 8
	replyLen   = 4 + 8 + 4
	maxReply   = 4096 // a longer packet is not the reply to a creation

	requestLen = lengthLen + 4 + 4 + 4 // the number of the request, its kind, the length of a path
	opExists   = 3                     // the kind of a request for the metadata of a node
	opSetAuth  = 100                   // the kind of a request for authentication

	errAuthFailed = -115
)

func (s *sniffer) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err != nil {
		why := err
		if errors.Is(err, io.EOF) && !s.connected() {
			why = fmt.Errorf("%w: %w", err, errTurnedAway)
		}
		s.end(why)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parse(p[:n])
	return n, err
}

// Write hides its errors and closes the connection instead, which has the same effect. If
// a write fails, the client library answers the request, and again when it gives up the
// connection. A request for authentication has no room for a second answer: the library
// would hang.
func (s *sniffer) Write(p []byte) (int, error) {
	if _, err := s.Conn.Write(s.edit(p)); err != nil {
		s.end(err)
		_ = s.Close() // may have been closed already
	}
	return len(p), nil
}

// edit returns the packet p as it is to be sent. A request for the metadata of a node ends
// with the node's path and a byte that says whether to set a watch. A request for
// authentication ends with the credentials, which the library leaves empty.
func (s *sniffer) edit(p []byte) []byte {
	if len(p) <= requestLen || !s.connected() {
		return p
	}
	switch binary.BigEndian.Uint32(p[lengthLen+4:]) {
	case opExists:
		if path := p[requestLen : len(p)-1]; s.wantsWatch(string(path)) {
			p = slices.Clone(p)
			p[len(p)-1] = 1
		}
	case opSetAuth:
		p = append(p[:len(p)-4:len(p)-4], binary.BigEndian.AppendUint32(nil, uint32(len(s.auth)))...)
		p = append(p, s.auth...)
		binary.BigEndian.PutUint32(p, uint32(len(p)-lengthLen))
	}
	return p
}

// connected reports whether the server has sent its first packet. The request before that
// has no kind.
func (s *sniffer) connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// end reports why the connection has ended. Later errors are not reported.
func (s *sniffer) end(why error) { s.once.Do(func() { s.onEnd(why) }) }

// parse parses the next bytes.
func (s *sniffer) parse(p []byte) {
	for len(p) > 0 {
		if s.rest == 0 { // the length of a packet, or the rest of it
			n := min(lengthLen-len(s.packet), len(p))
			s.packet, p = append(s.packet, p[:n]...), p[n:]
			if len(s.packet) == lengthLen {
				s.rest = int(binary.BigEndian.Uint32(s.packet))
				s.packet = s.packet[:0]
			}
			continue
		}
		n := min(s.rest, len(p))
		if len(s.packet) < maxReply {
			s.packet = append(s.packet, p[:min(n, maxReply-len(s.packet))]...)
		}
		if s.rest -= n; s.rest == 0 {
			s.parsePacket(s.packet)
			s.packet = s.packet[:0]
		}
		p = p[n:]
	}
}

// parsePacket parses a packet, of which b is the beginning.
func (s *sniffer) parsePacket(b []byte) {
	if !s.first {
		s.first = true
		if len(b) >= sessionLen {
			s.timeout = time.Duration(binary.BigEndian.Uint32(b[4:])) * time.Millisecond
			s.id = int64(binary.BigEndian.Uint64(b[8:]))
		}
		return
	}
	if len(b) >= replyLen && int32(binary.BigEndian.Uint32(b[replyLen-4:])) == errAuthFailed {
		s.end(errRefusedAuth)
	}
	if len(b) < replyLen+4 || int(binary.BigEndian.Uint32(b[replyLen:])) != len(b)-replyLen-4 {
		return
	}
	path := b[replyLen+4:]
	if zxid := int64(binary.BigEndian.Uint64(b[4:])); zxid > 0 && bytes.Contains(path, []byte("/"+prefix)) {
		s.createZxids.add(string(path), zxid)
	}
}

// SetReadDeadline limits the time for the first packet to patience. For a server that
// accepts connections and sends nothing, the client library would wait seven session
// timeouts.
func (s *sniffer) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	first := s.first
	s.mu.Unlock()
	if limit := time.Now().Add(s.patience); !first && !t.IsZero() && t.After(limit) {
		t = limit
	}
	return s.Conn.SetReadDeadline(t)
}

// session returns the session of the first packet, or zeros if it has not come.
func (s *sniffer) session() (id int64, timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id, s.timeout
}

// createZxids contains the IDs of the transactions that created nodes, from the server's
// reply until the client library has returned the node's path.
type createZxids struct {
	mu     sync.Mutex
	byPath map[string]int64
}

func (c *createZxids) add(path string, zxid int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPath == nil {
		c.byPath = make(map[string]int64)
	}
	c.byPath[path] = zxid
}

// take removes and returns the ID for a node; 0 if it is not known.
func (c *createZxids) take(path string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	zxid := c.byPath[path]
	delete(c.byPath, path)
	return zxid
}
