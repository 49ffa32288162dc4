package driver

import (
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/internal/text"
)

// The errors that a Backend reports. The texts of errors should be one line.
var (
	// ErrNotAcquired: another owner holds the lock.
	ErrNotAcquired = errors.New("lock not acquired")

	// ErrForeign: the key in the store contains a lock of another kind, or something
	// that is not a lock. The error should name its type. It matches ErrNotAcquired:
	// the store works, and the key may become free.
	ErrForeign = fmt.Errorf("%w: held by another kind of lock", ErrNotAcquired)

	// ErrLost: the store says that this owner does not have the key.
	ErrLost = errors.New("lock lost")

	// ErrNotSent: nothing of this call reaches the store, now or later. See [NotSent].
	ErrNotSent = errors.New("nothing was sent")
)

// NotSent returns an error with the text of err that matches ErrNotSent, too. Without it, an
// error of an attempt means that the outcome is unknown, and the Locker calls
// Release. A backend should use it where that is certain: for example if the connection
// was refused, or if no connection of a pool was free.
func NotSent(err error) error { return notSentError{err} }

type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }

func (notSentError) Is(target error) bool { return target == ErrNotSent }

// HeldError is how a [Backend] says that another owner holds the key. It wraps
// [ErrNotAcquired]. Every field except RetryAfter is for people; a zero field means
// that the value is not known.
type HeldError struct {
	// RetryAfter is the time until the present lease ends without a renewal: the Locker makes
	// an attempt then. It is zero if only the queue is in the way.
	RetryAfter time.Duration

	// Holder is the name of the holder: see [HolderOf].
	Holder string

	// Held is how long the holder has had the key.
	Held time.Duration

	// Local reports whether the holder is in this process, under this Locker. A
	// locked call that waits for the lock of its own caller waits in vain. A Backend
	// leaves it false.
	Local bool

	// Over reports that Local is true, that the holder's lease is over, and that its function
	// goes on: the caller waits for its return. The key may be free in the store. A Backend
	// leaves it false.
	Over bool
}

// Error says that the key is held, by which holder, for how long, and when the lease
// ends if it is not renewed, as far as these are known.
func (e *HeldError) Error() string {
	s := ErrNotAcquired.Error() + ": held by "
	switch {
	case e.Local:
		s += "this process"
	case e.Holder != "":
		s += e.Holder
	default:
		s += "another"
	}
	if e.Held > 0 {
		s += " for " + text.Duration(e.Held)
	}
	if e.Over {
		s += ", whose lease is over"
	}
	if e.RetryAfter > 0 {
		s += ", " + text.Duration(e.RetryAfter) + " left"
	}
	return s
}

// Unwrap returns [ErrNotAcquired].
func (e *HeldError) Unwrap() error { return ErrNotAcquired }
