package localqueue

import (
	"errors"
	"fmt"
)

var (
	// ErrBusy says that a caller that does not wait would have to.
	ErrBusy = errors.New("localqueue: busy")

	// ErrClosed says that the Queue is closed.
	ErrClosed = errors.New("localqueue: closed")
)

// Limit is a limit of a [Queue].
type Limit int

// The limits.
const (
	MaxKeys         Limit = iota // keys in use
	MaxWaiters                   // waiters for all keys
	MaxWaitersOfKey              // waiters for one key
)

// FullError says that a limit of the Queue is reached.
type FullError struct {
	Limit Limit
	N     int // of the keys or waiters that count
}

// Error returns the number and the name of the limit.
func (e *FullError) Error() string {
	switch e.Limit {
	case MaxKeys:
		return fmt.Sprintf("%d keys in use, which is the limit", e.N)
	case MaxWaiters:
		return fmt.Sprintf("%d wait (Config.MaxWaiters)", e.N)
	default:
		return fmt.Sprintf("%d wait for the key (Config.MaxWaiters)", e.N)
	}
}
