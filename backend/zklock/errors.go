package zklock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// trouble records why there is no session.
type trouble struct {
	addr  string // of the server that was tried last
	cause error  // the last failure; nil if there was none since the last session
}

// tries records which server is tried.
func (l *link) tries(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble.addr = addr
}

// failed records why there is no connection with a server.
func (l *link) failed(addr string, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = trouble{addr, cause}
}

// serverError says where an operation failed, and why.
type serverError struct {
	addr  string // "" if it is not known
	err   error  // the error for the caller
	cause error  // the cause of err, as the source reports it; nil if there is nothing to add
}

func (e *serverError) Error() string {
	text := e.err.Error()
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	if !strings.Contains(text, e.addr) {
		text = e.addr + ": " + text
	}
	return "zklock: " + strings.ReplaceAll(text, "\n", "; ") // a dialer may have joined its errors
}

// Unwrap leaves out the cause: a dialer's timeout would match that of the caller's
// context.
func (e *serverError) Unwrap() error { return e.err }

// explain adds the address of the server to the error of an operation, and the cause if
// the connection or the credentials failed.
func (l *link) explain(err error) error {
	switch {
	case err == nil, errors.Is(err, errClosed), errors.Is(err, errEphemeral), errors.As(err, new(*serverError)),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, zk.ErrClosing):
		return errClosed
	}
	l.mu.Lock()
	last := l.trouble
	l.mu.Unlock()
	e := &serverError{addr: last.addr, err: err}
	switch {
	case errors.Is(err, errNoAnswer):
		e.err, e.cause = fmt.Errorf("%w within %v", err, l.opts.opTimeout), last.cause
	case errors.Is(err, errNoSession) && last.cause == nil:
		e.cause = errNoAnswer // yet
	case errors.Is(err, errNoSession), errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrNoServer),
		errors.Is(err, zk.ErrSessionExpired):
		e.cause = last.cause
	case errors.Is(err, zk.ErrNoAuth) && l.opts.user == "":
		e.cause = errNoCredentials
	case errors.Is(err, zk.ErrNoAuth):
		e.cause = fmt.Errorf("the nodes' ACL does not name the user %q with this password", l.opts.user)
	}
	return e
}

// cause returns why an operation ended with its context. If there is no session, the
// missing session is the cause, not the caller's deadline.
func (l *link) cause(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errNoAnswer) || errors.Is(cause, errClosed) {
		return l.explain(cause)
	}
	l.mu.Lock()
	up := l.isUp
	l.mu.Unlock()
	if up {
		return ctx.Err()
	}
	return l.explain(errNoSession)
}
