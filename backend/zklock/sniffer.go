package zklock

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// sniffer is a connection that also parses the first packet of the server, for the
// session's timeout, which the client library does not return.
type sniffer struct {
	net.Conn
	in       *bufio.Reader   // reads from Conn: the library reads each packet in two parts
	patience time.Duration   // how long to wait for the first packet
	onEnd    func(why error) // called once, when the connection has ended

	once sync.Once

	mu    sync.Mutex
	hello []byte    // the beginning of the first packet
	since time.Time // when the first packet had come
	owes  time.Time // when the first request was written after the server has sent something last; zero if there is none
}

// A packet begins with its length. The first packet then contains the protocol version,
// the timeout in milliseconds and the ID of the session.
const (
	lengthLen = 4
	helloLen  = lengthLen + 4 + 4 + 8
)

func (s *sniffer) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if err != nil {
		why := err
		if errors.Is(err, io.EOF) && !s.connected() {
			why = fmt.Errorf("%w: %w", err, errTurnedAway)
		}
		s.end(why)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 0 {
		s.owes = time.Time{}
	}
	if len(s.hello) < helloLen {
		s.hello, s.since = append(s.hello, p[:min(n, helloLen-len(s.hello))]...), time.Now()
	}
	return n, err
}

// Write hides its errors and closes the connection instead, which has the same effect.
// If a write fails, the client library answers the request, and again when it gives up
// the connection. A request for authentication has no room for a second answer: the
// library would hang.
func (s *sniffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	if s.owes.IsZero() {
		s.owes = time.Now()
	}
	s.mu.Unlock()
	if _, err := s.Conn.Write(p); err != nil {
		s.end(err)
		_ = s.Close() // may have been closed already
	}
	return len(p), nil
}

// connected reports whether the server has sent its first packet.
func (s *sniffer) connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hello) == helloLen
}

// times returns how old the session on the connection is, and for how long the server
// has sent nothing although it was asked.
func (s *sniffer) times() (age, silence time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.owes.IsZero() {
		silence = time.Since(s.owes)
	}
	if !s.since.IsZero() {
		age = time.Since(s.since)
	}
	return age, silence
}

// end reports why the connection has ended. Later errors are not reported.
func (s *sniffer) end(why error) { s.once.Do(func() { s.onEnd(why) }) }

// SetReadDeadline limits the time for the first packet to patience. For a server that
// accepts connections and sends nothing, the client library would wait seven session
// timeouts.
func (s *sniffer) SetReadDeadline(t time.Time) error {
	if limit := time.Now().Add(s.patience); !s.connected() && t.After(limit) {
		t = limit
	}
	return s.Conn.SetReadDeadline(t)
}

// session returns the session of the first packet, or zeros if it has not come.
func (s *sniffer) session() (id int64, timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hello) < helloLen {
		return 0, 0
	}
	milliseconds := binary.BigEndian.Uint32(s.hello[helloLen-12:])
	return int64(binary.BigEndian.Uint64(s.hello[helloLen-8:])), time.Duration(milliseconds) * time.Millisecond
}
