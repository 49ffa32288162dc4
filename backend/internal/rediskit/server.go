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
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/background"
)

// Server adds to errors why a server fails: its address, and what a separate
// connection, made only for this check, has found. The client does not report the
// cause: it dials again and again until its time is up, and its hooks cannot be
// removed. A Server is safe for concurrent use.
type Server struct {
	pkg    string        // named in errors
	limit  time.Duration // of an operation
	addr   string
	client redis.UniversalClient
	probe  *redis.Options // of the separate connection; nil if unknown

	background *background.Work
	eviction   sync.Once

	mu     sync.Mutex
	asking bool
	began  time.Time // asking
	found  error
	when   time.Time // of found
	left   time.Time // the last time that Leave ended a connection
}

// NewServer returns the Server of the client. If the client has several, it is
// the first that the client asks. Errors name the package pkg. limit is that of an
// operation. Work that continues after Ask has returned ends with work.
func NewServer(pkg string, client redis.UniversalClient, work *background.Work, limit time.Duration) *Server {
	s := &Server{pkg: pkg, client: client, background: work, limit: limit}
	switch c := client.(type) {
	case *redis.Client:
		o := *c.Options()
		s.addr, s.probe = o.Addr, &o
		if s.addr == "FailoverClient" { // as go-redis calls it
			s.addr = "the master that Sentinel names"
		}
	case *redis.ClusterClient:
		o := c.Options()
		s.addr = strings.Join(o.Addrs, ",")
		if len(o.Addrs) > 0 {
			s.probe = &redis.Options{
				Addr: o.Addrs[0], Dialer: o.Dialer, DialTimeout: o.DialTimeout, TLSConfig: o.TLSConfig, Protocol: o.Protocol,
				Username: o.Username, Password: o.Password, CredentialsProvider: o.CredentialsProvider,
				CredentialsProviderContext: o.CredentialsProviderContext, StreamingCredentialsProvider: o.StreamingCredentialsProvider,
			}
		}
	case *redis.Ring:
		s.addr = strings.Join(slices.Sorted(maps.Values(c.Options().Addrs)), ",")
	}
	return s
}

// Addr returns the address as it is in errors.
func (s *Server) Addr() string { return s.addr }

// Explain adds to err what the operator needs: the package, the address, and what helps
// if a password or a right is missing, if the server is a replica, or if it is part of
// a Cluster and the client does not know: then the error also wraps
// [errors.ErrUnsupported]. The error is one line and wraps err.
func (s *Server) Explain(err error) error {
	if err == nil || errors.As(err, new(*explained)) {
		return err
	}
	if s.moved(err) {
		return &explained{s.text(err), []error{err, errors.ErrUnsupported}}
	}
	return &explained{s.text(err), []error{err}}
}

// moved reports whether a Cluster names another server to a client that does not go
// there.
func (s *Server) moved(err error) bool {
	_, one := s.client.(*redis.Client)
	return one && (redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK"))
}

// NoAnswer returns err, which says that there was no answer, with the reason, if Ask
// has found one recently.
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
		err = fmt.Errorf("%w: %v", err, found) //nolint:errorlint // the text alone: the reason may match errors of contexts
	}
	return s.Explain(err)
}

var errNoAnswer = errors.New("no answer")

// Late is NoAnswer after the time limit of an operation. Another server of a Cluster may have
// taken the place of this one.
func (s *Server) Late() error {
	Reload(s.client)
	return s.NoAnswer(fmt.Errorf("%w within the operation timeout of %v", errNoAnswer, s.limit), 2*s.limit)
}

// Unanswered is NoAnswer if err says that there was no answer, but not why.
func (s *Server) Unanswered(err error) error {
	if !Unexplained(err) || errors.As(err, new(*explained)) {
		return err
	}
	s.Diagnose()
	return s.NoAnswer(err, s.limit)
}

// ForCaller returns err, of an operation with a time limit, for a caller with ctx. If that has
// ended, the Locker says so.
func (s *Server) ForCaller(ctx context.Context, err error) error {
	switch {
	case !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled):
		return s.Explain(err)
	case ctx.Err() != nil:
		return s.NoAnswer(errNoAnswer, 2*s.limit)
	default:
		return s.Late()
	}
}

type explained struct {
	text string
	errs []error
}

func (e *explained) Error() string { return e.text }

func (e *explained) Unwrap() []error { return e.errs }

func (s *Server) text(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	switch {
	case strings.Contains(text, "unauthenticated"):
		// Scripts are longer than what a server reads from strangers.
		text = "NOAUTH the server wants a password: " + text
	case errors.Is(err, io.EOF):
		text = "the server closed the connection: " + text
	case s.moved(err):
		text += "; the server is part of a Cluster, which needs redis.NewClusterClient"
	case redis.HasErrorPrefix(err, "READONLY"):
		text += "; the address leads to a replica, and locks need the master"
	case redis.HasErrorPrefix(err, "NOPERM"), strings.Contains(text, "can't run this command"), strings.Contains(text, "ACL failure in script"):
		text += "; the documentation of package " + s.pkg + " has the ACL rules that locks need"
	}
	if s.addr != "" && !strings.Contains(text, s.addr) {
		text = s.addr + ": " + text
	}
	return s.pkg + ": " + text
}

// Diagnose is Ask for a quarter of the limit. If it is called when half of the limit has
// passed, it has the reason before all of the limit has passed.
func (s *Server) Diagnose() { s.Ask(s.limit / 4) }

// Ask makes a connection to the server and checks whether it answers, unless another
// call is doing so already. It returns when it has a result or when the limit has
// passed; later calls then use the result.
func (s *Server) Ask(limit time.Duration) {
	s.mu.Lock()
	if s.asking || s.probe == nil {
		s.mu.Unlock()
		return
	}
	s.asking, s.began = true, time.Now()
	s.mu.Unlock()
	done := make(chan struct{})
	run(s.background, func() {
		defer close(done)
		found := s.ask(s.background, limit)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking, s.found, s.when = false, found, time.Now()
	})
	select {
	case <-done:
	case <-time.After(limit):
	case <-s.background.Done():
	}
}

// patience is how many times the limit a connection may take after its caller has
// stopped waiting: Sentinels are slow to report that they are not there.
const patience = 20

// ask returns the problem, if it finds one.
func (s *Server) ask(ctx context.Context, limit time.Duration) (err error) {
	defer Recover(&err) // Ask may ask again
	ctx, cancel := context.WithTimeout(ctx, patience*limit)
	defer cancel()
	o := *s.probe
	o.PoolSize, o.MinIdleConns, o.MaxActiveConns, o.PipelinePoolSize = 1, 0, 0, -1
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = limit/2, limit/2, patience*limit
	o.ContextTimeoutEnabled = true
	o.Limiter, o.OnConnect, o.ClientSideCache, o.ClientSideCacheConfig = nil, nil, nil, nil
	o.PushNotificationProcessor, o.MaintNotificationsConfig = nil, noNotifications()
	guard(&o)
	c := redis.NewClient(&o)
	defer c.Close() //nolint:errcheck // it had no other use
	err = c.Ping(ctx).Err()
	timeout := net.Error(nil)
	switch {
	case err != nil && ctx.Err() != nil: // an answer would have come, or failed to come, long before
		return fmt.Errorf("no connection for %v", patience*limit)
	case err != nil && errors.As(err, &timeout) && timeout.Timeout() && !Dialled(err):
		return errors.New("it takes connections, but answers nothing")
	case errors.Is(err, io.EOF), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return errors.New("it closes new connections: it may want TLS, or have reached maxclients")
	case err != nil:
		return err
	}
	if p, ok := s.client.(*redis.Client); ok {
		if st := p.PoolStats(); st.IdleConns == 0 && int(st.TotalConns) >= p.Options().PoolSize {
			return fmt.Errorf("it answers on a new connection, but all %d connections of the client are in use", st.TotalConns)
		}
	}
	return errors.New("it answers on a new connection")
}

// Unexplained reports whether err says that there was no answer, but not why. For example, a
// server closes the connections of clients that it does not accept.
func Unexplained(err error) bool {
	return !Answered(err) && !Dialled(err) && !errors.Is(err, redis.ErrClosed) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// Dialled reports whether err says that a connection could not be made. Such an error
// needs no further explanation.
func Dialled(err error) bool {
	op := new(net.OpError)
	return errors.As(err, &op) && op.Op == "dial"
}

// Reload is called when a server did not answer. In a Cluster another server may have
// taken its place. go-redis learns this from redirections or once a minute, but a dead
// server redirects nothing. So the other servers are asked, in the background, at most
// five times a second.
func Reload(client redis.UniversalClient) {
	if c, ok := client.(*redis.ClusterClient); ok {
		c.ReloadState(context.Background()) //nolint:forbidigo // it is not used
	}
}
