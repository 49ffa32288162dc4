package distlock

import (
	"context"
	"time"
)

// Hooks are told what happens to the locks of a [Locker]: for metrics, traces
// and logs. Each may be nil. They are called on the caller's goroutine, or on a
// goroutine of the Locker for Lost; they must be safe for concurrent use and
// must not block, because the lock is held or waited for meanwhile.
//
// Use Name as a metric label, never Key: callers choose keys. Keys in logs are
// best quoted.
type Hooks struct {
	// Start is called when an acquisition begins. What it returns becomes the
	// context of the acquisition and of the function that runs under the lock,
	// so that a span can be put into it. It must return a context derived from
	// ctx.
	Start func(ctx context.Context, i StartInfo) context.Context

	// Acquired is called when a lock was got, and for every re-entry.
	Acquired func(ctx context.Context, i AcquiredInfo)

	// Failed is called when an acquisition ended without the lock.
	Failed func(ctx context.Context, i FailedInfo)

	// Lost is called once when a lease is over before it was released.
	Lost func(i LostInfo)

	// Released is called when a lease was given back, lost or not. It is not
	// called for the end of a re-entry.
	Released func(ctx context.Context, i ReleasedInfo)

	// Resigned is called when a term of [Locker.Lead] is over, after Released:
	// with what the function returned, also if Lead goes on.
	Resigned func(ctx context.Context, i ResignedInfo)
}

// StartInfo describes an acquisition that begins.
type StartInfo struct {
	Name string // Opts.Prefix + Opts.Value
	Key  string
}

// AcquiredInfo describes a lock that was got.
type AcquiredInfo struct {
	Name       string
	Key        string
	Token      uint64
	Wait       time.Duration // from the call to the lock
	Reentrant  bool          // the caller held the key already
	HandedOver bool          // it came from the holder before, or from readers beside, in this process, not from the store
}

// FailedInfo describes an acquisition that ended without the lock.
type FailedInfo struct {
	Name string
	Key  string
	Wait time.Duration
	Err  error // as the caller gets it
}

// LostInfo describes a lease that ended before it was released.
type LostInfo struct {
	Name  string
	Key   string
	Token uint64
	Held  time.Duration // since it was acquired
	Err   error         // wraps ErrLost and says how
}

// ReleasedInfo describes a lease that was given back.
type ReleasedInfo struct {
	Name  string
	Key   string
	Token uint64
	Held  time.Duration
	Err   error // ErrLost, ErrUnavailable, or nil
}

// ResignedInfo describes a term of a leader that is over.
type ResignedInfo struct {
	Name  string
	Key   string
	Token uint64 // of the term
	Held  time.Duration
	Err   error // the function's, with what became of the lock joined behind it
}
