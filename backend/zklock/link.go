package zklock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/internal/rolling"
)

const (
	// maxNudges bounds the nudges in flight.
	maxNudges = 8

	// sessionPatience is the longest wait for a session on a new connection. A server
	// that is starting may accept a connection and never answer on it. The wait is
	// shorter than the default lease, which cannot be renewed meanwhile.
	sessionPatience = 5 * time.Second
)

// link is a Backend's connection to the ensemble. It knows what the client library does
// not tell: the session's timeout, when a session can be used, and why there is none.
type link struct {
	config *Config
	conn   *zk.Conn
	hosts  *hosts
	ctx    context.Context //nolint:containedctx // ends when the Backend is closed
	nudges atomic.Int32    // in flight

	mu            sync.Mutex
	latest        *sniffer      // the connection that was opened last
	current       *session      // nil before the first and after an expired session
	up            chan struct{} // closed while the session can be used
	authenticated bool
	lastAddr      string    // of the server that was tried last
	lastErr       error     // the last failure; nil if there was none since the last session
	suspected     time.Time // when suspect closed a connection last
}

func newLink(ctx context.Context, servers []string, c *Config) (*link, error) {
	l := &link{config: c, hosts: &hosts{ctx: ctx, lookup: c.lookup}, ctx: ctx, up: make(chan struct{})}
	l.mu.Lock() // events wait until conn is set
	defer l.mu.Unlock()
	conn, _, err := zk.Connect(servers, c.SessionTimeout, zk.WithHostProvider(l.hosts),
		zk.WithDialer(l.dial), zk.WithEventCallback(l.onEvent), zk.WithLogger(silent), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("zklock: %w", err)
	}
	l.conn = conn
	return l, nil
}

func (l *link) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	if l.ctx.Err() != nil {
		return nil, errClosed
	}
	l.mu.Lock()
	l.lastAddr = address
	l.mu.Unlock()
	c, err := l.config.Dialer(network, address, timeout)
	if err != nil {
		l.setFailure(address, err)
		return nil, err
	}
	s := &sniffer{
		Conn: c, in: bufio.NewReader(c), patience: min(max(l.config.SessionTimeout/3, time.Second), sessionPatience),
		onEnd: func(err error) { l.setFailure(address, fmt.Errorf("the connection ended: %w", err)) },
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = s
	return s, nil
}

// onEvent handles an event. The client library calls it for one event at a time, before
// it reads what the server has sent after the event.
func (l *link) onEvent(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		id, timeout := l.latest.session()
		if l.current == nil { // otherwise it continues: the end of a session is an event of its own
			l.current = &session{placequeue.NewSession(), id, timeout}
		}
		if l.config.User != "" && !l.authenticated {
			go l.authenticate()
			return
		}
		l.setUp()
	case zk.StateExpired:
		l.lastErr = zk.ErrSessionExpired
		l.endSession()
		l.setDown()
	case zk.StateDisconnected:
		l.setDown()
	}
}

// authenticate sends the credentials, once. On later connections the client library
// repeats that before it sends anything else.
func (l *link) authenticate() {
	if err := l.conn.AddAuth("digest", []byte(l.config.User+":"+l.config.Password)); err != nil {
		return // the next connection tries again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.authenticated = true
	if l.current != nil {
		l.setUp()
	}
}

func (l *link) setUp() {
	if !placequeue.IsClosed(l.up) {
		l.lastErr = nil
		close(l.up)
	}
}

func (l *link) setDown() {
	if placequeue.IsClosed(l.up) {
		l.up = make(chan struct{})
	}
}

func (l *link) endSession() {
	if l.current != nil {
		l.current.End()
		l.current = nil
	}
}

// setFailure records why there is no connection to a server.
func (l *link) setFailure(addr string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastAddr, l.lastErr = addr, err
}

// session returns the current session, or nil if there is none.
func (l *link) session() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// ready waits until there is a connection with a session.
func (l *link) ready(ctx context.Context) (*session, error) {
	for {
		l.mu.Lock()
		s, up := l.current, l.up
		l.mu.Unlock()
		if s != nil && placequeue.IsClosed(up) {
			return s, nil
		}
		select {
		case <-up:
		case <-l.ctx.Done():
			return nil, errClosed
		case <-ctx.Done():
			return nil, l.cause(ctx)
		}
	}
}

// close ends the session, and with it all its nodes, when ctx has ended. It takes a few
// seconds at most if the server does not answer.
func (l *link) close() {
	l.conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest != nil {
		_ = l.latest.Close() // the library would wait for the answer of a hung server
	}
	l.endSession()
	l.setDown()
}

// opContext returns a context for one operation.
func (l *link) opContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return rolling.Within(ctx, l.config.OpTimeout, errNoAnswer)
}

// nudge sends a request to a server that owes an answer. ZooKeeper 3.8's
// CommitProcessor looks for work before it takes the lock under which it waits for
// work. It misses what is committed in between, and finds it when the next request
// comes. With one client that is the next ping, a third of the session's timeout later.
func (l *link) nudge() {
	if l.nudges.Add(1) > maxNudges { // the server answers nothing
		l.nudges.Add(-1)
		return
	}
	go func() {
		defer l.nudges.Add(-1)
		_, _, _ = l.conn.Exists("/")
	}()
}

// suspect closes the connection if the server has been silent for half of the time of
// an operation, or if one that began at start has no answer in all its time and there
// are other servers. The library would wait for two thirds of the session, in which
// every lease ends. It does so once in the time of two operations: a leader that stands
// still is no fault of the next connection.
func (l *link) suspect(start time.Time) {
	l.mu.Lock()
	s, limit := l.latest, l.config.OpTimeout
	if s == nil || time.Since(l.suspected) < 2*limit {
		l.mu.Unlock()
		return
	}
	age, silence := s.times()
	took := min(time.Since(start), age)
	dead := age > 0 && silence >= limit/2 || took >= limit && l.hosts.several.Load()
	if dead {
		l.suspected = time.Now()
	}
	l.mu.Unlock()
	if dead {
		s.end(fmt.Errorf("%w within %v", errNoAnswer, max(silence, took).Round(time.Millisecond)))
		go s.Close() //nolint:errcheck // it may have been closed already, and TLS may wait
	}
}

// explain adds the address of the server to the error of an operation, and the cause if
// the connection or the credentials failed.
func (l *link) explain(err error) error {
	switch {
	case err == nil, errors.Is(err, errClosed), errors.Is(err, errEphemeral), errors.As(err, new(*serverError)):
		return err
	case errors.Is(err, zk.ErrClosing):
		return errClosed
	}
	l.mu.Lock()
	addr, cause, user := l.lastAddr, l.lastErr, l.config.User
	l.mu.Unlock()
	e := &serverError{addr: addr, err: err}
	switch {
	case errors.Is(err, errNoSession) && cause == nil:
		e.cause = errNoAnswer
	case errors.Is(err, errNoAnswer), errors.Is(err, errNoSession), errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrNoServer),
		errors.Is(err, zk.ErrSessionExpired):
		e.cause = cause
	case errors.Is(err, zk.ErrNoAuth) && user == "":
		e.cause = errNoCredentials
	case errors.Is(err, zk.ErrNoAuth):
		e.cause = fmt.Errorf("the ACL does not give it to the user %q with this password, see Config.ACL", user)
	}
	return e
}

// cause returns why an operation ended with its context. If there is no session, the
// missing session is the cause, not the caller's deadline.
func (l *link) cause(ctx context.Context) error {
	l.mu.Lock()
	missing := errNoSession
	if placequeue.IsClosed(l.up) {
		missing = errNoAnswer
	}
	l.mu.Unlock()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errClosed):
		return cause
	case errors.Is(cause, errNoAnswer):
		missing = fmt.Errorf("%w within %v", missing, l.config.OpTimeout)
	}
	return l.explain(missing)
}

// silent drops the messages of the client library: the errors of the calls say the
// same.
var silent = log.New(io.Discard, "", 0)

// session is a session with the servers. Ephemeral nodes belong to a session and are
// deleted when it ends.
type session struct {
	placequeue.Session

	id      int64
	timeout time.Duration // as agreed with the server
}

// maxLease returns how long a lease may be so that it ends before the session can end.
// The lease begins when a request is sent that the server then confirms.
//
// The leader ends a session some time after its last sign of life. A sign of life that
// reaches a follower gets to the leader with the follower's next answer to a ping, at
// most half a tick later. If the follower dies before that, the last sign of life that
// the leader knows is the one before the request. It is at most a third of the timeout
// older, because the client pings that often. So after the request the session lasts
// for at least timeout - timeout/3 - tick/2. That is at least half of the timeout if
// the timeout is three ticks or more.
func (s *session) maxLease() time.Duration { return s.timeout / 2 }
