package distlock

import (
	"errors"
	"strconv"
	"time"
)

// The errors that the kit reports. They arrive wrapped in an [*Error], so ask
// with [errors.Is]; more than one may match. Ask for [ErrUnavailable] before
// [ErrNotAcquired]: a wait that was cut short while the backend was failing
// matches both.
var (
	// ErrNotAcquired: the lock is held by another and the wait budget or the
	// caller's context ended first. If it was the context, the error matches
	// the context's error too.
	ErrNotAcquired = errors.New("lock not acquired")

	// ErrLost: the lease is over although nobody asked for that: it expired
	// before it could be renewed, it outlived MaxHold, or the backend says that
	// the key has another owner. It is the cause of the cancelled context, and
	// the answer of a lease that was released.
	ErrLost = errors.New("lock lost")

	// ErrKey: the parameters cannot be made into a key, or the key is not
	// acceptable. Nothing was sent to the backend.
	ErrKey = errors.New("invalid lock key")

	// ErrQueueFull: too many goroutines of this process wait for the key
	// ([Opts].MaxWaiters), or too many keys are in use ([Config].MaxKeys).
	ErrQueueFull = errors.New("too many waiters in this process")

	// ErrUnavailable: the backend failed; whether the lock is free is unknown.
	ErrUnavailable = errors.New("lock backend unavailable")

	// ErrClosed: the Locker was closed.
	ErrClosed = errors.New("locker closed")

	// ErrNoFencing: [Opts].Fencing asks for a fencing token, and the backend
	// gives none. Trying again would not help.
	ErrNoFencing = errors.New("lock backend gives no fencing token")

	// ErrUpgrade: the caller holds the key already, but as a reader or with one
	// of several permits, and asks below that for more: it would wait for itself.
	// Ask for the stronger lock first.
	ErrUpgrade = errors.New("lock cannot be upgraded")
)

// Error says which operation failed on which key. It wraps one or more of the
// package's sentinels, and the backend's own error where there is one.
type Error struct {
	Op  string // "acquire", "hold", "release", "refresh", "check", "step", "commit", "lead", "inspect", "force", "key" or "options"
	Key string // the full key; empty when there is none yet
	Err error
}

// Error quotes the key, because callers choose keys and errors end in logs, and
// cuts it at 64 bytes.
func (e *Error) Error() string {
	if e.Key == "" {
		return "distlock: " + e.Op + ": " + e.Err.Error()
	}
	return "distlock: " + e.Op + " " + quoteKey(e.Key) + ": " + e.Err.Error()
}

// Unwrap returns what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// HeldError is how a [Backend] says that the key is held by another. It wraps
// [ErrNotAcquired].
type HeldError struct {
	// RetryAfter is the time until the present lease ends if nobody renews it.
	// Zero means unknown.
	RetryAfter time.Duration
}

// Error says that the key is held, and for how long at the most without renewal.
func (e *HeldError) Error() string {
	if e.RetryAfter <= 0 {
		return ErrNotAcquired.Error() + ": held by another"
	}
	return ErrNotAcquired.Error() + ": held by another, " + e.RetryAfter.String() + " left"
}

// Unwrap returns [ErrNotAcquired].
func (e *HeldError) Unwrap() error { return ErrNotAcquired }

// join puts the kit's own failure behind the function's error and never
// replaces it: a lone error comes back as it is, so that == goes on working.
func join(fnErr, lockErr error) error {
	switch {
	case lockErr == nil:
		return fnErr
	case fnErr == nil:
		return lockErr
	default:
		return errors.Join(fnErr, lockErr)
	}
}

func quoteKey(key string) string {
	const most = 64
	if len(key) > most {
		return strconv.QuoteToASCII(key[:most]) + "..."
	}
	return strconv.QuoteToASCII(key)
}
