package zklock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

var (
	errClosed    = errors.New("zklock: the Backend is closed")
	errNoAnswer  = errors.New("no answer")
	errNoSession = errors.New("no session")

	errNoCredentials = errors.New("no credentials were given, see WithDigest")
)

// session is one with the server. Ephemeral nodes belong to it.
type session struct {
	id      int64
	timeout time.Duration // what the server agreed to
	ended   chan struct{} // closed when the server has said that it is over
}

// maxLease is how long a lease may be that begins when a request is sent that the
// server then confirms, so that it is over before the server gives the session up.
//
// The leader decides when a session is over, by when it last heard of a sign of
// life. Of those that came to a follower it hears with the follower's next answer
// to a ping, half a tick later at the latest. If the follower dies before that,
// the leader knows of no sign but the one before the request, which may be a third
// of the timeout older: the client pings so often. So the session lasts until
// timeout - timeout/3 - tick/2 after the request at the least, which is half of
// the timeout if that is three ticks or more.
func (s *session) maxLease() time.Duration { return s.timeout / 2 }

// link is the connection of a Backend. It finds out what the client library does
// not tell: which timeout was agreed upon, and when a session can be used.
type link struct {
	opts    *options
	conn    *zk.Conn
	started chan struct{} // closed when conn is set
	done    chan struct{} // closed by close

	births births
	nudges atomic.Int32 // under way

	mu      sync.Mutex
	nc      *sniffer // the latest
	current *session // nil before the first and after an expired one
	up      chan struct{}
	isUp    bool
	authed  bool
	trouble trouble
}

func newLink(servers []string, o *options) (*link, error) {
	l := &link{opts: o, started: make(chan struct{}), done: make(chan struct{}), up: make(chan struct{})}
	conn, _, err := zk.Connect(servers, o.sessionTimeout,
		zk.WithDialer(l.dial), zk.WithEventCallback(l.event), zk.WithLogger(logger{o.logger}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("zklock: %w", err)
	}
	l.conn = conn
	close(l.started)
	return l, nil
}

// logger is what the client library writes to.
type logger struct{ to *slog.Logger }

func (l logger) Printf(format string, args ...any) {
	l.to.Debug("zklock: " + fmt.Sprintf(format, args...))
}

func (l *link) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	select {
	case <-l.done:
		return nil, errClosed
	default:
	}
	l.tries(address)
	c, err := l.opts.dial(network, address, timeout)
	if err != nil {
		l.failed(address, err)
		return nil, err
	}
	s := &sniffer{
		Conn: c, patience: max(l.opts.sessionTimeout/3, time.Second), births: &l.births,
		ended: func(err error) { l.failed(address, fmt.Errorf("the connection ended: %w", err)) },
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nc = s
	return s, nil
}

// event is called by the client library for each event, one at a time.
func (l *link) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		id, timeout := l.nc.session()
		if l.current != nil && l.current.id != id {
			l.endSession()
		}
		if l.current == nil {
			l.current = &session{id: id, timeout: timeout, ended: make(chan struct{})}
		}
		if l.opts.user != "" && !l.authed {
			go l.authenticate()
			return
		}
		l.setUp()
	case zk.StateExpired:
		l.trouble.cause = zk.ErrSessionExpired
		l.endSession()
		l.setDown()
	case zk.StateDisconnected:
		l.setDown()
	}
}

// authenticate gives the credentials, once: the client library repeats them on
// later connections before it sends anything else.
func (l *link) authenticate() {
	<-l.started
	if err := l.conn.AddAuth("digest", []byte(l.opts.user+":"+l.opts.password)); err != nil {
		if errors.Is(err, zk.ErrAuthFailed) {
			l.mu.Lock()
			l.trouble.cause = err
			l.mu.Unlock()
		}
		return // the next connection tries again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.authed = true
	if l.current != nil {
		l.setUp()
	}
}

func (l *link) setUp() {
	if !l.isUp {
		l.isUp, l.trouble.cause = true, nil
		close(l.up)
	}
}

func (l *link) setDown() {
	if l.isUp {
		l.isUp = false
		l.up = make(chan struct{})
	}
}

func (l *link) endSession() {
	if l.current != nil {
		close(l.current.ended)
		l.current = nil
	}
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
		s, up, isUp := l.current, l.up, l.isUp
		l.mu.Unlock()
		if isUp && s != nil {
			return s, nil
		}
		select {
		case <-up:
		case <-l.done:
			return nil, errClosed
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errNoAnswer) {
				return nil, l.explain(fmt.Errorf("%w within %v", errNoSession, l.opts.opTimeout))
			}
			return nil, l.cause(ctx)
		}
	}
}

// close ends the session, and with it all its nodes. It takes a few seconds at
// most, if the server does not answer.
func (l *link) close() {
	l.mu.Lock()
	select {
	case <-l.done:
		l.mu.Unlock()
		return
	default:
	}
	close(l.done)
	l.mu.Unlock()
	l.conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nc != nil {
		_ = l.nc.Close() // the library would wait for what a server that hangs has to say
	}
	l.endSession()
	l.setDown()
}
