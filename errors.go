package distlock

import (
	"errors"
	"strings"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/text"
)

// The errors of this package. They arrive wrapped in an [*Error], with a text of one
// line. Ask for one of them with [errors.Is]; if several may match, use [CodeOf].
var (
	// ErrNotAcquired: another owner holds the lock, and the wait ended. If the caller's
	// context ended, the error matches the context's error too. A [*HeldError] in it
	// names the holder, if known.
	ErrNotAcquired = driver.ErrNotAcquired

	// ErrForeign: the key in the store contains a lock of another kind, or something
	// else, whose type the error names. It matches [ErrNotAcquired]: the store works,
	// and the key may become free.
	ErrForeign = driver.ErrForeign

	// ErrLost: the lease ended before its release. It expired before it was renewed, it
	// reached MaxHold, or the store says that the key has another owner.
	ErrLost = driver.ErrLost

	// ErrKey: the parameters cannot be made into a key, or the key is not acceptable.
	// Nothing was sent to the backend.
	ErrKey = errors.New("invalid lock key")

	// ErrQueueFull: [Opts].MaxWaiters, [Config].MaxWaiters or [Config].MaxKeys is
	// reached. The error names the limit.
	ErrQueueFull = errors.New("too many waiters in this process")

	// ErrUnavailable: the backend failed; whether the lock is free is unknown.
	ErrUnavailable = errors.New("lock backend unavailable")

	// ErrClosed: the Locker was closed.
	ErrClosed = errors.New("locker closed")

	// ErrNoFencing: the backend does not give the token that [Opts].Fencing demands.
	ErrNoFencing = errors.New("lock backend gives no fencing token")

	// ErrUpgrade: the caller holds the key as a reader or with a permit, and asks for
	// more below that: it would wait for itself. Ask for the stronger lock first.
	ErrUpgrade = errors.New("lock cannot be upgraded")
)

// Error says which operation failed on which key. It wraps one or more of the errors of
// this package, and the backend's own error if there is one.
//
// The error of a locked function is never replaced; an Error of the lock is joined
// behind it.
type Error struct {
	// Op is for people: "acquire", "hold", "renew", "release", "refresh", "check", "step",
	// "commit", "lead", "inspect", "force", "ping", "key" or "options".
	Op string

	Key string // the full key; empty when there is none yet
	Err error

	// RetryAfter suggests when to try again, if an acquisition failed for a reason that
	// may pass; otherwise it is 0. It is the time left of the holder's lease, if known,
	// but at most [Opts].KeyTimeout, because the lease may belong to another program;
	// otherwise [Opts].RetryInterval.
	RetryAfter time.Duration
}

// notAcquired returns the error of an acquisition with options o that ended with err.
func (o *Opts) notAcquired(key string, err error) *Error {
	e := &Error{Op: "acquire", Key: key, Err: err}
	if !CodeOf(err).mayPass() {
		return e
	}
	e.RetryAfter = o.RetryInterval
	if held := new(HeldError); errors.As(err, &held) && held.RetryAfter > 0 {
		e.RetryAfter = min(held.RetryAfter, o.KeyTimeout)
	}
	return e
}

// Error returns a single line, even if Err has several. It quotes the key, because
// callers choose keys, and cuts it to 64 bytes.
func (e *Error) Error() string {
	if e.Key == "" {
		return "distlock: " + e.Op + ": " + text.OneLine(e.Err)
	}
	return "distlock: " + e.Op + " " + text.Quote(e.Key) + ": " + text.OneLine(e.Err)
}

// Unwrap returns what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// Is makes [CodeOf] find the errors of options.
func (e *Error) Is(target error) bool { return target == errOptions && e.Op == "options" }

// errOptions matches each Error of the options.
var errOptions = errors.New("invalid options")

// KeyError says what is wrong with the parameters of a key. Functions that make
// parameters from requests return it. It wraps [ErrKey].
type KeyError struct {
	Detail string // for the client: should name the part of the request and not its value
	Err    error  // the reason, or nil; the client does not see it
}

// Error returns the detail and the reason.
func (e *KeyError) Error() string {
	if e.Err == nil {
		return ErrKey.Error() + ": " + e.Detail
	}
	return ErrKey.Error() + ": " + e.Detail + ": " + e.Err.Error()
}

// Unwrap returns [ErrKey] and the reason.
func (e *KeyError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrKey}
	}
	return []error{ErrKey, e.Err}
}

// noFunction is the error for a nil function. Nothing is locked for it.
func noFunction(key string) error {
	return &Error{Op: "options", Key: key, Err: errors.New("fn is nil")}
}

// joined is like the error of errors.Join, but its text is a single line.
type joined struct{ errs []error }

func (e *joined) Error() string {
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *joined) Unwrap() []error { return e.errs }

// join puts the kit's own failure behind the function's error and never
// replaces it: a lone error comes back as it is, so that == goes on working.
func join(fnErr, lockErr error) error {
	switch {
	case lockErr == nil:
		return fnErr
	case fnErr == nil:
		return lockErr
	default:
		return &joined{[]error{fnErr, lockErr}}
	}
}
