package distlock

import (
	"context"
	"errors"
	"time"
)

// Hooks are told what happens to the locks of a [Locker]. Each may be nil. They must be safe
// for concurrent use. Use Event.Name as a metric label, never Key, because callers choose
// keys; quote keys in logs.
//
// Event gets the context that Start returned, which must derive from the context of Start.
// From Acquired on, it is the context of the lease ([Lease.Context]); with Lost and Released
// it is cancelled, so a hook that needs a live one uses [context.WithoutCancel]. Each
// Acquired is followed by one Released if the lease is released. Re-entries have no Renewed
// and Lost.
//
// Waiting, Renewed and Lost come on their own goroutines; if a hook panics there, the program
// ends. Waiting does not come after Acquired or Failed, which wait for a call in progress.
// Renewed and Lost may come after Released if the lease is released at the same moment. The
// others come on the caller's goroutine. They must not block, because the lock is held or
// waited for. If a hook panics there, the lock is released, and the panic reaches the caller.
type Hooks struct {
	Start func(ctx context.Context, e Event) context.Context // an acquisition begins
	Event func(ctx context.Context, e Event)                 // what becomes of it: see Kind

	// NoWaiting says that Event does not use Waiting, which then need not come.
	NoWaiting bool
}

// Kind is what an [Event] tells of.
type Kind string

// The kinds. An Event of [Hooks].Start has none.
const (
	Waiting  Kind = "waiting"  // an acquisition has waited for 1, 2, 4 seconds and so on; later, each minute
	Acquired Kind = "acquired" // a lock was acquired, or re-entered
	Failed   Kind = "failed"   // an acquisition ended without the lock, also one that was refused
	Renewed  Kind = "renewed"  // a lease was renewed; with Err, the store failed to, and the watchdog tries again
	Lost     Kind = "lost"     // a lease ended before its release
	Released Kind = "released" // a lease, lost or not, was released, or a re-entry ended
)

// Event is what [Hooks] are told. Fields that do not belong to its Kind are zero.
type Event struct {
	Kind Kind

	Name    string // Opts.Prefix + Opts.Value, or "unnamed" if both are empty
	Key     string // empty if no key could be made
	Mode    Mode   // of a re-entry, as Permits: of the lease that it re-enters
	Permits int    // of a semaphore; 0: not a semaphore
	Leader  bool   // Waiting and Released: the caller is Locker.Lead

	// Err is nil for Start and Acquired. For Waiting it is what a caller that gave up now
	// would get, and for Failed what the caller gets: see CodeOf, and HeldError for the
	// holder. For Renewed it is nil, or wraps ErrUnavailable and says why. For Lost it wraps
	// ErrLost and says how. For Released it is ErrLost, ErrUnavailable, or nil.
	Err error

	Wait    time.Duration // since the call: Waiting, Acquired, Failed
	Place   int           // Waiting: in the queue of this process, where 1 is the first; 0: it asks the store
	Waiters int           // Waiting: how many callers of this process wait for the key

	Token      uint64        // from Acquired on
	Held       time.Duration // since it was acquired, or re-entered: Renewed, Lost, Released
	Left       time.Duration // Renewed: until the lease is lost, unless a later renewal succeeds
	Reentrant  bool          // Acquired, Released: a re-entry; the caller holds the key before and after
	HandedOver bool          // Acquired: it came from a holder in this process, not from the store
}

// newEvent returns what the hooks are told of an acquisition that has no lease.
func newEvent(kind Kind, key string, o *Opts) Event {
	return Event{Kind: kind, Name: o.name(), Key: key, Mode: o.Mode, Permits: o.Permits}
}

// JoinHooks returns hooks that call all given hooks in this order; for Failed and Released,
// which end what Start began, in reverse. Each Start gets the context of the Start before it.
// If a Start panics, the hooks before it get Failed; otherwise the others are still called.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Start: startBoth(joined, h), Event: eventBoth(joined.Event, h.Event),
			NoWaiting: !joined.waiting() && !h.waiting() && (joined.NoWaiting || h.NoWaiting),
		}
	}
	return joined
}

// waiting reports whether the hooks use Waiting.
func (h *Hooks) waiting() bool { return h.Event != nil && !h.NoWaiting }

// eventBoth returns a hook that calls first and then second, even if first panics, or nil if
// both are nil.
func eventBoth(first, second func(context.Context, Event)) func(context.Context, Event) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(ctx context.Context, e Event) {
		if e.Kind == Failed || e.Kind == Released {
			defer first(ctx, e)
			second(ctx, e)
			return
		}
		defer second(ctx, e)
		first(ctx, e)
	}
}

// errStart is why an acquisition failed before it began.
var errStart = errors.New("a Start hook did not return")

// startBoth is eventBoth for Start. If the Start of second does not return, first gets
// Failed.
func startBoth(first, second Hooks) func(context.Context, Event) context.Context {
	if second.Start == nil {
		return first.Start
	}
	return func(ctx context.Context, e Event) context.Context {
		if first.Start != nil {
			ctx = first.Start(ctx, e)
		}
		returned := false
		defer func() {
			if !returned && first.Event != nil { // a panic, or runtime.Goexit
				e.Kind, e.Err = Failed, &Error{Op: "acquire", Key: e.Key, Err: errStart}
				first.Event(ctx, e)
			}
		}()
		below := second.Start(ctx, e)
		returned = true
		return below
	}
}
