package distlock

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Hooks are told what happens to the locks of a [Locker]. Each may be nil. They must be safe
// for concurrent use. Use Name as a metric label, never Key, because callers choose keys;
// quote keys in logs.
//
// Every hook gets the context that Start returned, which must derive from the context of
// Start. From Acquired on, it is the context of the lease ([Lease.Context]); in Lost and
// Released it is cancelled, so a hook that needs a live one uses
// [context.WithoutCancel]. Each Acquired is followed by one Released if the lease is
// released. Re-entries have no Renewed and Lost.
//
// Waiting, Renewed and Lost run on their own goroutines; if they panic, the program ends.
// Waiting does not come after Acquired or Failed, which wait for a call in progress. Renewed
// and Lost may come after Released if the lease is released at the same moment. The others
// run on the caller's goroutine. They must not block, because the lock is held or waited
// for. If one panics, the lock is released, and the panic reaches the caller.
type Hooks struct {
	Start    func(ctx context.Context, i LockInfo) context.Context // an acquisition begins
	Waiting  func(ctx context.Context, i WaitingInfo)              // it has waited for 1, 2, 4 seconds and so on; later, each minute
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

// WaitingInfo describes an acquisition that waits. What it says of the store is what this
// process has seen last.
type WaitingInfo struct {
	LockInfo
	Wait      time.Duration // since the call
	Err       error         // why, as a caller that gave up now would get it: see HeldError for the holder
	Place     int           // in the queue, 1 is the first; 0 if that is not known. Those that gave up may be counted
	Local     bool          // Place is in the queue of this process; otherwise in that of the store
	Candidate bool          // the caller is Locker.Lead
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

// JoinHooks returns hooks that call all given hooks in this order; Failed and Released, which
// end what Start began, in reverse. Each Start gets the context of the Start before it. If a
// Start panics, the hooks before it get Failed; otherwise the others are still called.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Start:    startBoth(joined, h),
			Waiting:  both(joined.Waiting, h.Waiting),
			Acquired: both(joined.Acquired, h.Acquired),
			Failed:   both(h.Failed, joined.Failed),
			Renewed:  both(joined.Renewed, h.Renewed),
			Lost:     both(joined.Lost, h.Lost),
			Released: both(h.Released, joined.Released),
		}
	}
	return joined
}

// both returns a hook that calls first and then second, even if first panics, or nil if both
// are nil.
func both[Info any](first, second func(context.Context, Info)) func(context.Context, Info) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	default:
		return func(ctx context.Context, i Info) {
			defer second(ctx, i)
			first(ctx, i)
		}
	}
}

// errStart is why an acquisition failed before it began.
var errStart = errors.New("a Start hook did not return")

// startBoth is both for Start. If that of second does not return, first gets Failed.
func startBoth(first, second Hooks) func(context.Context, LockInfo) context.Context {
	if second.Start == nil {
		return first.Start
	}
	return func(ctx context.Context, i LockInfo) context.Context {
		if first.Start != nil {
			ctx = first.Start(ctx, i)
		}
		returned := false
		defer func() {
			if !returned && first.Failed != nil { // a panic, or runtime.Goexit
				first.Failed(ctx, FailedInfo{LockInfo: i, Err: &Error{Op: "acquire", Key: i.Key, Err: errStart}})
			}
		}()
		below := second.Start(ctx, i)
		returned = true
		return below
	}
}

// LogHooks returns hooks that log as warnings lost leases, failed renewals, and what only a
// change of the program helps, such as refused options; not a refused key of parameters,
// which is the fault of a request. A wait is logged on the info level, as often as Waiting is
// called, and the rest on the debug level, also the wait of a candidate of [Locker.Lead].
// LogHooks panics if log is nil.
func LogHooks(log *slog.Logger) Hooks {
	if log == nil {
		panic("distlock: LogHooks: nil Logger")
	}
	line := func(ctx context.Context, level slog.Level, msg string, i *LockInfo, attrs ...slog.Attr) {
		if log.Enabled(ctx, level) {
			log.LogAttrs(ctx, level, msg, append([]slog.Attr{slog.String("name", i.Name), slog.String("key", i.Key)}, attrs...)...)
		}
	}
	return Hooks{
		Start: func(ctx context.Context, i LockInfo) context.Context {
			line(ctx, slog.LevelDebug, "lock wanted", &i)
			return ctx
		},
		Waiting: func(ctx context.Context, i WaitingInfo) {
			level := slog.LevelInfo
			if i.Candidate {
				level = slog.LevelDebug
			}
			line(ctx, level, "waiting for lock", &i.LockInfo, i.attrs()...)
		},
		Acquired: func(ctx context.Context, i AcquiredInfo) {
			line(ctx, slog.LevelDebug, "lock acquired", &i.LockInfo, slog.Uint64("token", i.Token), slog.Duration("wait", i.Wait),
				slog.Bool("reentrant", i.Reentrant), slog.Bool("handed_over", i.HandedOver))
		},
		Failed: func(ctx context.Context, i FailedInfo) {
			level := slog.LevelDebug
			if CodeOf(i.Err).isFault() && (i.Key != "" || !errors.Is(i.Err, ErrKey)) {
				level = slog.LevelWarn
			}
			line(ctx, level, "lock not acquired", &i.LockInfo, slog.Duration("wait", i.Wait), slog.Any("err", i.Err))
		},
		Renewed: func(ctx context.Context, i RenewedInfo) {
			renewal := []slog.Attr{slog.Uint64("token", i.Token), slog.Duration("held", i.Held), slog.Duration("left", i.Left)}
			if i.Err == nil {
				line(ctx, slog.LevelDebug, "lock renewed", &i.LockInfo, renewal...)
			} else {
				line(ctx, slog.LevelWarn, "lock not renewed", &i.LockInfo, append(renewal, slog.Any("err", i.Err))...)
			}
		},
		Lost: func(ctx context.Context, i LostInfo) {
			line(ctx, slog.LevelWarn, "lock lost", &i.LockInfo, slog.Uint64("token", i.Token), slog.Duration("held", i.Held),
				slog.Any("err", i.Err))
		},
		Released: func(ctx context.Context, i ReleasedInfo) {
			msg := "lock released"
			if i.Term {
				msg = "leader resigned"
			}
			line(ctx, slog.LevelDebug, msg, &i.LockInfo, slog.Uint64("token", i.Token), slog.Duration("held", i.Held),
				slog.Bool("reentrant", i.Reentrant), slog.Any("err", i.Err))
		},
	}
}

// attrs returns what LogHooks says about a wait: only what is known.
func (i *WaitingInfo) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.Duration("wait", i.Wait.Round(time.Millisecond))}
	held := new(HeldError)
	switch {
	case !errors.As(i.Err, &held):
		attrs = append(attrs, slog.Any("err", i.Err))
	case held.Local:
		attrs = append(attrs, slog.String("holder", "this process"))
	case held.Holder != "":
		attrs = append(attrs, slog.String("holder", held.Holder))
	}
	if held.Held > 0 {
		attrs = append(attrs, slog.Duration("held", held.Held.Round(time.Millisecond)))
	}
	if i.Place > 0 {
		queue := "store"
		if i.Local {
			queue = "this process"
		}
		attrs = append(attrs, slog.Int("place", i.Place), slog.String("queue", queue))
	}
	return attrs
}
