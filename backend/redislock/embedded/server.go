// Package embedded runs a Redis inside the process: for demos, examples and
// tests of what is built on package redislock, without a server to install.
//
// It is miniredis, whose leases stand still by themselves; here they run in
// real time, and inside a testing/synctest bubble in the bubble's time. Nothing
// survives the process. Moving the leases costs time for every key: up to a few
// thousand they are exact to a millisecond, beyond that they may end up to 20 ms
// early. Do not use it in production.
package embedded

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Server is a Redis inside the process. It is safe for concurrent use.
type Server struct {
	mini  *miniredis.Miniredis
	clock *clock

	mu       sync.Mutex
	closed   bool
	clients  []*redis.Client
	listener net.Listener
	serving  sync.WaitGroup
}

// Start starts an empty server, on no port: Client reaches it through memory.
// Close it when done.
func Start() *Server {
	m := miniredis.NewMiniRedis()
	// Dialling starts a miniredis that has no port. It cannot fail then.
	if c, err := m.Dial(); err == nil {
		_ = c.Close()
	}
	return &Server{mini: m, clock: newClock(m)}
}

// Client returns a new client of the server. Close closes it, if the caller has
// not.
func (s *Server) Client() *redis.Client {
	c := redis.NewClient(s.Options())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
	} else {
		s.clients = append(s.clients, c)
	}
	return c
}

// Options returns the options of a client that reaches the server through
// memory, to be changed and given to [redis.NewClient].
func (s *Server) Options() *redis.Options {
	return &redis.Options{
		Addr:   "127.0.0.1:0", // never dialled; a name would be looked up
		Dialer: func(context.Context, string, string) (net.Conn, error) { return s.dial() },
		// A server in memory that is closed stays so. What would try again in the
		// background would outlive a bubble that has ended.
		DialerRetries: 1,
		// Asks for what a miniredis does not have.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func (s *Server) dial() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, net.ErrClosed
	}
	client, server := net.Pipe()
	s.mini.Server().ServeConn(newConn(server, s.clock))
	return client, nil
}

// Listen opens a TCP port too, for other processes and for redis-cli: for
// example "127.0.0.1:6380", or "127.0.0.1:0" for any free one. It returns the
// address that Addr will return from then on. There is no password. It fails if
// the port cannot be had, or if the server listens already or is closed.
func (s *Server) Listen(addr string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return "", net.ErrClosed
	case s.listener != nil:
		return "", errors.New("embedded: listening already")
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	s.listener = l
	s.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mini.Server().ServeConn(newConn(c, s.clock))
		}
	})
	return l.Addr().String(), nil
}

// Addr returns the address that the server listens on, or "" if it does not.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Close ends the server and the clients that it gave out. It returns nil.
// Closing again does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	if s.listener != nil {
		_ = s.listener.Close()
	}
	s.mu.Unlock()

	s.serving.Wait() // no connection begins after this
	for _, c := range s.clients {
		_ = c.Close()
	}
	s.mini.Close()
	return nil
}
