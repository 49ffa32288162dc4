package distlock

import (
	"context"
	"time"
)

// Hooks are told what happens to the locks of a [Locker], for metrics, traces and logs.
// Each may be nil. They must be safe for concurrent use. Use Name as a metric label,
// never Key, because callers choose keys; quote keys in logs.
//
// Every hook gets the context that Start returned, which must derive from the context of
// Start. From Acquired on, it is the context of the lease ([Lease.Context]); in Lost and
// Released it is cancelled, so a hook that needs a live one uses
// [context.WithoutCancel]. Each Acquired is followed by one Released if the lease is
// released. Re-entries have no Renewed and Lost.
//
// Renewed and Lost run on their own goroutines, so they may come after Released if the
// lease is released at the same moment; if they panic, the program ends. The others
// run on the caller's goroutine. They must not block, because the lock is held or waited
// for. If one panics, the panic reaches the caller like a panic of the function: the lock
// is released, and no hook is called twice for it.
type Hooks struct {
	Start    func(ctx context.Context, i LockInfo) context.Context // an acquisition begins
	Acquired func(ctx context.Context, i AcquiredInfo)             // a lock was acquired, or re-entered
	Failed   func(ctx context.Context, i FailedInfo)               // an acquisition ended without the lock, also one that was refused
	Renewed  func(ctx context.Context, i RenewedInfo)              // a lease was renewed, or the store failed to renew it
	Lost     func(ctx context.Context, i LostInfo)                 // a lease ended before its release
	Released func(ctx context.Context, i ReleasedInfo)             // a lease, lost or not, was released, or a re-entry ended
}

// LockInfo describes the lock of a hook.
type LockInfo struct {
	Name    string // Opts.Prefix + Opts.Value, or "unnamed" if both are empty
	Key     string // empty if no key could be made
	Mode    Mode
	Permits int // of a semaphore; 0: not a semaphore
}

// AcquiredInfo describes a lock that was acquired.
type AcquiredInfo struct {
	LockInfo
	Token      uint64
	Wait       time.Duration // from the call to the lock
	Reentrant  bool          // the caller held the key already; Mode and Permits are those of its lease
	HandedOver bool          // it came from a holder in this process, not from the store
}

// FailedInfo describes an acquisition that ended without the lock.
type FailedInfo struct {
	LockInfo
	Wait time.Duration
	Err  error // as the caller gets it: see CodeOf, and HeldError for the holder
}

// RenewedInfo describes a renewal, or one that failed: then the watchdog tries again.
// Readers that share a lease are told of each renewal one by one.
type RenewedInfo struct {
	LockInfo
	Token uint64
	Held  time.Duration // since it was acquired
	Left  time.Duration // until the lease is lost, unless a later renewal succeeds
	Err   error         // nil, or wraps ErrUnavailable and says why
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
	Term      bool          // the end of a term of Locker.Lead
	Err       error         // ErrLost, ErrUnavailable, or nil
}

// info returns what every hook gets about s.
func (s *Lease) info() LockInfo {
	sharing := s.state.Class().Sharing
	return LockInfo{Name: s.name, Key: s.Key(), Mode: sharing.Mode, Permits: sharing.Permits}
}

// info returns what the hooks get about an acquisition that has no lease.
func (o *Opts) info(key string) LockInfo {
	return LockInfo{Name: o.name(), Key: key, Mode: o.Mode, Permits: o.Permits}
}
