package distlock

import (
	"context"
	"time"
)

// Hooks are told what happens to the locks of a [Locker]: for metrics, traces
// and logs. Each may be nil. They must be safe for concurrent use.
//
// Every hook gets the context that Start returned, so that a span which was put
// into it is found in all of them. From Acquired on it is the lease's own
// ([Lease.Context]), whatever context the lease is released with: in Lost and
// Released it is cancelled, and what needs one that is not takes
// [context.WithoutCancel]. Each Acquired is followed by one Released in the end,
// that of a re-entry too, unless the lease is never released.
//
// RenewFailed and Lost are called on goroutines of their own, so Lost may come
// after Released if the lease is released at that moment. The others are called on
// the caller's goroutine and must not block, because the lock is held or waited for
// meanwhile. What a hook panics with goes on to the caller as from the function
// itself: the lock is given back, or was already, and no hook is called twice for
// it. In RenewFailed and Lost a panic ends the program, as on any goroutine.
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

	// RenewFailed is called for each lease that a renewal by the watchdog did not
	// extend, because the store failed or did not answer. It is tried again, and
	// the lease goes on for the time left. It is not called for a re-entry, nor
	// when the lease is lost: that is for Lost.
	RenewFailed func(ctx context.Context, i RenewFailedInfo)

	// Lost is called once when a lease is over before it was released. It is not
	// called for a re-entry.
	Lost func(ctx context.Context, i LostInfo)

	// Released is called when a lease was given back, lost or not, and at the end of
	// a re-entry.
	Released func(ctx context.Context, i ReleasedInfo)

	// Resigned is called when a term of [Locker.Lead] is over, after Released:
	// with what the function returned, also if Lead goes on.
	Resigned func(ctx context.Context, i ResignedInfo)
}

// LockInfo says which lock a hook is told about, and how it is wanted or held.
type LockInfo struct {
	Name    string // Opts.Prefix + Opts.Value, or "unnamed" if both are empty
	Key     string
	Mode    Mode
	Permits int // of a semaphore; 0: it is none
}

// StartInfo describes an acquisition that begins.
type StartInfo struct{ LockInfo }

// AcquiredInfo describes a lock that was got.
type AcquiredInfo struct {
	LockInfo

	Token      uint64
	Wait       time.Duration // from the call to the lock
	Reentrant  bool          // the caller held the key already, as Mode and Permits say
	HandedOver bool          // it came from the holder before, or from readers beside, in this process, not from the store
}

// FailedInfo describes an acquisition that ended without the lock.
type FailedInfo struct {
	LockInfo

	Wait time.Duration
	Err  error // as the caller gets it; a HeldError in it says which holder has the key, where that is known
}

// RenewFailedInfo describes a renewal without success.
type RenewFailedInfo struct {
	LockInfo

	Token uint64
	Held  time.Duration // since it was acquired
	Left  time.Duration // until the lease is lost, unless a later renewal succeeds
	Err   error         // wraps ErrUnavailable and says why
}

// LostInfo describes a lease that ended before it was released.
type LostInfo struct {
	LockInfo

	Token uint64
	Held  time.Duration // since it was acquired
	Err   error         // wraps ErrLost and says how
}

// ReleasedInfo describes a lease that was given back, or a re-entry that ended.
type ReleasedInfo struct {
	LockInfo

	Token     uint64
	Held      time.Duration // since it was acquired, or re-entered
	Reentrant bool          // the end of a re-entry: the caller has the key still
	Err       error         // ErrLost, ErrUnavailable, or nil
}

// ResignedInfo describes a term of a leader that is over.
type ResignedInfo struct {
	LockInfo

	Token uint64 // of the term
	Held  time.Duration
	Err   error // the function's, with what became of the lock joined behind it
}

// info is what every hook is told about s.
func (s *Lease) info() LockInfo {
	t := &s.hold.terms
	return LockInfo{Name: s.name, Key: s.Key(), Mode: t.mode, Permits: t.permits}
}

// info is what the hooks are told of an acquisition without a lease.
func (o *Opts) info(key string) LockInfo {
	return LockInfo{Name: o.name(), Key: key, Mode: o.Mode, Permits: o.Permits}
}
