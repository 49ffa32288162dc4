// Package embedded runs a Redis inside the process, for demos, examples and tests of
// code that uses package redislock, without a server to install.
//
// It is a miniredis, but its leases expire: in real time, or inside a testing/synctest
// bubble in the bubble's time. Its data ends with the process. Advancing the leases
// takes time for every key: up to a few thousand keys they are exact to a millisecond,
// with more they may end up to 20 ms early. Do not use it in production.
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

// Start starts an empty server without a port: Client reaches it in memory. Close it
// after use.
func Start() *Server {
	m := miniredis.NewMiniRedis()
	// Dial starts a miniredis that has no port, and cannot fail then.
	if c, err := m.Dial(); err == nil {
		_ = c.Close()
	}
	return &Server{mini: m, clock: newClock(m)}
}

// Client returns a new client of the server. Server.Close closes it if the caller has
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

// Options returns the options of a client that reaches the server in memory. Change
// them and pass them to [redis.NewClient].
func (s *Server) Options() *redis.Options {
	return &redis.Options{
		Addr:   "127.0.0.1:0", // not dialled; a name would be looked up
		Dialer: func(context.Context, string, string) (net.Conn, error) { return s.dial() },
		// A closed server in memory stays closed. Retries in the background would
		// outlive a bubble that has ended.
		DialerRetries: 1,
		// A miniredis does not support these notifications.
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

// Listen also opens a TCP port, for other processes and for redis-cli: for example
// "127.0.0.1:6380", or "127.0.0.1:0" for any free port. It returns the address, as Addr
// does from then on. There is no password. It fails if the port cannot be opened, or if
// the server already listens or is closed.
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

// Addr returns the address that the server listens on, or "" if it does not listen.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Close stops the server and closes its clients. It returns nil. Further calls have no
// effect.
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

	s.serving.Wait() // no connection starts after this
	for _, c := range s.clients {
		_ = c.Close()
	}
	s.mini.Close()
	return nil
}
