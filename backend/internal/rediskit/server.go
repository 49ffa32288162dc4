package rediskit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server says why a server fails, for those who read errors: where it is, and what a
// connection of its own, made for that question alone, has found. The client does
// not tell the latter: it dials again and again until its time is up, and its hooks
// cannot be taken back. A Server is safe for concurrent use.
type Server struct {
	pkg    string // whose errors they are
	addr   string
	client redis.UniversalClient
	dial   func(context.Context) (net.Conn, error) // nil if nobody knows how

	background *Background

	mu     sync.Mutex
	asking bool
	began  time.Time // asking
	found  error
	when   time.Time // of found
}

// NewServer returns the Server that the client has, or that it asks first if it has
// several. Package pkg is named in errors. What goes on after Ask has returned ends with
// bg.
func NewServer(pkg string, client redis.UniversalClient, bg *Background) *Server {
	s := &Server{pkg: pkg, client: client, background: bg}
	switch c := client.(type) {
	case *redis.Client:
		o := c.Options()
		s.addr = o.Addr
		s.dial = func(ctx context.Context) (net.Conn, error) { return o.Dialer(ctx, o.Network, o.Addr) }
		if s.addr == "FailoverClient" { // as go-redis calls it
			s.addr = "the master that Sentinel names"
		}
	case *redis.ClusterClient:
		o := c.Options()
		s.addr = strings.Join(o.Addrs, ",")
		if len(o.Addrs) > 0 {
			s.dial = dialer(o.Dialer, &redis.Options{DialTimeout: o.DialTimeout, TLSConfig: o.TLSConfig}, o.Addrs[0])
		}
	case *redis.Ring:
		s.addr = strings.Join(slices.Sorted(maps.Values(c.Options().Addrs)), ",")
	}
	return s
}

func dialer(dial func(ctx context.Context, network, addr string) (net.Conn, error), o *redis.Options, addr string) func(context.Context) (net.Conn, error) {
	if dial == nil {
		dial = redis.NewDialer(o)
	}
	return func(ctx context.Context) (net.Conn, error) { return dial(ctx, "tcp", addr) }
}

// Explain adds to err what its reader has to know: the package, the address, and that
// a password is missing. It is one line. The error wraps err.
func (s *Server) Explain(err error) error {
	if err == nil || errors.As(err, new(*explained)) {
		return err
	}
	return &explained{s.text(err), err}
}

// NoAnswer is err, an error that says that there was no answer, with the reason, as
// far as Ask has found one in the last while.
func (s *Server) NoAnswer(err error, last time.Duration) error {
	s.mu.Lock()
	found := s.found
	if d := time.Since(s.began); time.Since(s.when) > last && s.asking {
		found = fmt.Errorf("no connection for %v", d.Round(time.Millisecond))
	} else if time.Since(s.when) > last {
		found = nil
	}
	s.mu.Unlock()
	if found != nil {
		err = fmt.Errorf("%w: %v", err, found) //nolint:errorlint // the text alone: what was found may match errors of contexts
	}
	return s.Explain(err)
}

type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }

func (e *explained) Unwrap() error { return e.err }

func (s *Server) text(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	switch {
	case strings.Contains(text, "unauthenticated"):
		// Scripts are longer than what a server reads from strangers.
		text = "NOAUTH the server wants a password: " + text
	case errors.Is(err, io.EOF):
		text = "the server closed the connection: " + text
	}
	if s.addr != "" && !strings.Contains(text, s.addr) {
		text = s.addr + ": " + text
	}
	return s.pkg + ": " + text
}

// Ask makes a connection to the server and looks whether it answers, unless that is
// under way already. It returns when it knows, or when the limit has passed; then
// what it finds later is for the next who want to know.
func (s *Server) Ask(limit time.Duration) {
	s.mu.Lock()
	if s.asking || s.dial == nil {
		s.mu.Unlock()
		return
	}
	s.asking, s.began = true, time.Now()
	s.mu.Unlock()
	done := make(chan struct{})
	s.background.Run(func(ctx context.Context) {
		defer close(done)
		found := s.ask(ctx, limit)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking, s.found, s.when = false, found, time.Now()
	})
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-s.background.Done():
	}
}

// patience is how many times the limit a connection may take that nobody waits for
// any more: Sentinels take their time to say that they are not there.
const patience = 20

// ask returns what is wrong, as far as it finds something.
func (s *Server) ask(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience*limit)
	defer cancel()
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // it was of no other use
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	_ = c.SetDeadline(time.Now().Add(limit / 2))
	reply := make([]byte, 128)
	_, err = c.Write([]byte("PING\r\n"))
	n := 0
	if err == nil {
		n, err = c.Read(reply)
	}
	line, _, _ := strings.Cut(string(reply[:n]), "\r\n")
	timeout := net.Error(nil)
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("it takes connections, but answers nothing")
	case err != nil:
		return err
	case strings.HasPrefix(line, "-NOAUTH") && s.hasPassword(): // it would answer the client
	case strings.HasPrefix(line, "-"):
		return errors.New(line[1:])
	}
	if p, ok := s.client.(*redis.Client); ok {
		if st := p.PoolStats(); st.IdleConns == 0 && int(st.TotalConns) >= p.Options().PoolSize {
			return fmt.Errorf("the server answers others, but all %d connections of the client are in use", st.TotalConns)
		}
	}
	return errors.New("the server answers others")
}

func (s *Server) hasPassword() bool {
	switch c := s.client.(type) {
	case *redis.Client:
		o := c.Options()
		return o.Password != "" || o.CredentialsProvider != nil || o.CredentialsProviderContext != nil || o.StreamingCredentialsProvider != nil
	case *redis.ClusterClient:
		o := c.Options()
		return o.Password != "" || o.CredentialsProvider != nil || o.CredentialsProviderContext != nil || o.StreamingCredentialsProvider != nil
	default:
		return false
	}
}

// Dialled reports whether err is about a connection that could not be made: it says
// all that there is to be said.
func Dialled(err error) bool {
	op := new(net.OpError)
	return errors.As(err, &op) && op.Op == "dial"
}
