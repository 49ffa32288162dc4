package rediskit

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// Fate is what is known about the effect of a command.
type Fate int

// The fates of a command. The zero value claims nothing.
const (
	Unknown Fate = iota // it may have taken effect, or may still do so
	NotSent             // it never takes effect
	Replied             // the server has answered, possibly with an error
)

// FateOf returns the fate of a [Cmd] from its error.
func FateOf(err error) Fate {
	switch {
	case err == nil:
		return Replied
	case errors.As(err, new(*notSentError)):
		return NotSent
	case Answered(err):
		return Replied
	default:
		return Unknown
	}
}

// Broken reports whether err says that the connection broke before the answer. The
// server may have closed it long ago, so on another connection it may answer at once.
// The command is in doubt.
func Broken(err error) bool {
	late := net.Error(nil)
	return FateOf(err) == Unknown && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) &&
		(!errors.As(err, &late) || !late.Timeout())
}

// notSentError is the error of a command that was not written to any connection: for
// example there was no connection, or the server refused the password.
type notSentError struct{ err error }

func (e *notSentError) Error() string { return e.err.Error() }

func (e *notSentError) Unwrap() error { return e.err }

// Answered reports whether the server has answered the operation that returned err,
// possibly with an error.
func Answered(err error) bool {
	if err == nil {
		return true
	}
	var reply redis.Error
	return errors.As(err, &reply)
}
