package zklock

import (
	"errors"
	"strings"
)

var (
	errClosed        = errors.New("zklock: the Backend is closed")
	errNoAnswer      = errors.New("no answer")
	errNoSession     = errors.New("no session")
	errNoCredentials = errors.New("no credentials were given, see WithDigest")
)

// serverError says at which server an operation failed, and why.
type serverError struct {
	addr  string // "" if it is not known
	err   error  // the error for the caller
	cause error  // the cause of err as its source reports it; nil if there is nothing to add
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

// Unwrap omits the cause: a dialer's timeout would match the error of the caller's
// context.
func (e *serverError) Unwrap() error { return e.err }
