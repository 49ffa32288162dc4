package distlock

import (
	"context"
	"time"
)

// Hooks are told what happens to the locks of a [Locker]: for metrics, traces
// and logs. Each may be nil. They must be safe for concurrent use.
//
// Every hook gets the context that Start returned, so a span that Start put into the
// context is available in all of them. From Acquired on, the context is the lease's
// own ([Lease.Context]), whatever context the lease is released with. In Lost and
// Released it is cancelled; a hook that needs a live context uses
// [context.WithoutCancel]. Each Acquired is followed by exactly one Released, also for
// a re-entry, unless the lease is never released.
//
// RenewFailed and Lost are called on their own goroutines, so Lost may come after
// Released if the lease is released at the same moment. The others are called on the
// caller's goroutine and must not block, because the lock is held or waited for in the
// meantime. If one of these panics, the panic propagates to the caller, like a panic of
// the function itself: the lock is released, or was released already, and no hook is
// called twice for it. A panic in RenewFailed or Lost ends the program, as on any
// goroutine.
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

	// RenewFailed is called for each lease that the watchdog could not renew because
	// the store failed or did not answer. The watchdog tries again, and the lease
	// stays valid for the time left. RenewFailed is not called for a re-entry, nor
	// when the lease is lost: Lost is called then.
	RenewFailed func(ctx context.Context, i RenewFailedInfo)

	// Lost is called once when a lease ends before it was released. It is not called
	// for a re-entry.
	Lost func(ctx context.Context, i LostInfo)

	// Released is called when a lease was released, lost or not, and at the end of a
	// re-entry.
	Released func(ctx context.Context, i ReleasedInfo)

	// Resigned is called when a term of [Locker.Lead] is over, after Released:
	// with what the function returned, also if Lead goes on.
	Resigned func(ctx context.Context, i ResignedInfo)
}

// LockInfo describes the lock that a hook is called for, and how it is requested or
// held.
type LockInfo struct {
	Name    string // Opts.Prefix + Opts.Value, or "unnamed" if both are empty
	Key     string
	Mode    Mode
	Permits int // of a semaphore; 0: not a semaphore
}

// StartInfo describes an acquisition that begins.
type StartInfo struct{ LockInfo }

// AcquiredInfo describes a lock that was got.
type AcquiredInfo struct {
	LockInfo

	Token      uint64
	Wait       time.Duration // from the call to the lock
	Reentrant  bool          // the caller held the key already, as Mode and Permits say
	HandedOver bool          // it came from the previous holder, or from other readers, in this process, not from the store
}

// FailedInfo describes an acquisition that ended without the lock.
type FailedInfo struct {
	LockInfo

	Wait time.Duration
	Err  error // as the caller gets it; a HeldError in it names the holder, if it is known
}

// RenewFailedInfo describes a renewal that failed.
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

// ReleasedInfo describes a lease that was released, or a re-entry that ended.
type ReleasedInfo struct {
	LockInfo

	Token     uint64
	Held      time.Duration // since it was acquired, or re-entered
	Reentrant bool          // the end of a re-entry: the caller still holds the key
	Err       error         // ErrLost, ErrUnavailable, or nil
}

// ResignedInfo describes a term of a leader that is over.
type ResignedInfo struct {
	LockInfo

	Token uint64 // of the term
	Held  time.Duration
	Err   error // the function's, with what became of the lock joined behind it
}

// info returns what every hook gets about s.
func (s *Lease) info() LockInfo {
	sharing := s.hold.class.Sharing
	return LockInfo{Name: s.name, Key: s.Key(), Mode: sharing.Mode, Permits: sharing.Permits}
}

// info returns what the hooks get about an acquisition that has no lease.
func (o *Opts) info(key string) LockInfo {
	return LockInfo{Name: o.name(), Key: key, Mode: o.Mode, Permits: o.Permits}
}
