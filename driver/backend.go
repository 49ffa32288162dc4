package driver

import (
	"context"
	"time"
)

// Backend takes, renews and releases locks in one store.
//
// Every method must be safe for concurrent use, and must return soon after ctx ends. It must
// bound its own network operations: a hung server must not hang a caller for longer than a
// few seconds.
//
// A request can reach the store late, after others of the same owner: networks delay, and
// clients repeat. So no request may shorten a lease. Wherever a method extends a lease to
// TTL from now, the lease of an owner that would last longer must stay as it is. The only
// exception is Renew of a grant with [Grant].Retain.
//
// A Backend belongs to one Locker, which closes it if it is an [io.Closer].
type Backend interface {
	// Features returns what the backend supports. The answer must not change.
	Features() Features

	// TryAcquire makes one attempt and never waits for a holder.
	//
	// It must be idempotent for one Owner: an owner that already holds the key
	// succeeds, with a lease of at least TTL from now. The tokens must not be smaller
	// than at first. This makes a lost reply harmless.
	//
	// If another owner holds the key, the error must wrap [ErrNotAcquired]; a
	// [*HeldError] also says when to look again and names the holder. If the key
	// contains a lock of another kind, the error must wrap [ErrForeign]. If nothing was
	// sent, it may wrap [ErrNotSent]. Any other error means that the outcome is unknown: the
	// Locker tries again with the same Owner or calls Release. The error should contain the
	// address of the server and the cause.
	TryAcquire(ctx context.Context, r Request) (Grant, error)

	// Renew extends each grant to a full TTL from now, in as few round trips as it can, and
	// shortens none. It must report one result for each grant, by its index, as soon as the
	// result is known: the silence of one server must not delay the results of another. It
	// may call report from several goroutines at once, but must not call it after it has
	// returned. A grant without a report is [Unknown].
	//
	// The TTL is that of the grant. With [Grant].Retain it differs from the one that was
	// first asked for: the lease must then end TTL from now, whether that is later than
	// before or sooner. A backend that cannot take any TTL declares [Features].MaxTTL. A
	// grant that is gone must be reported [Lost] and must never be created anew.
	Renew(ctx context.Context, grants []Grant, report func(i int, r RenewResult))

	// Release gives the key back if g.Owner still has it, and gives up the owner's
	// place in the store's queue if it waits there. A grant of another owner must not
	// be touched: then the error must wrap [ErrLost]. Releasing again is not an error
	// if the release before had no answer; if it had one, the error may wrap
	// [ErrLost]. It is not an error either to release what was never granted
	// ([Request.Grant]) if the key has no holder. Any other error means that the outcome
	// is unknown.
	//
	// After a release the owner is not used any more. A backend may refuse it, so that
	// an attempt that arrives late does not take the key.
	Release(ctx context.Context, g Grant) error
}

// Features declares what a [Backend] supports. The Locker refuses options that need
// more.
type Features struct {
	// Sharing reports whether the backend honours [Request].Mode and
	// [Request].Permits.
	Sharing bool

	// MaxTTL is the longest TTL that the store keeps a key for; 0 means no limit. The
	// Locker never asks for more. TryAcquire and Renew must refuse a longer TTL at
	// once, with an error that wraps none of this package's errors: nothing was
	// granted, and nothing is lost.
	MaxTTL time.Duration
}

// Queuer is an ability of a [Backend] that keeps waiters in a queue in order of
// arrival and wakes the first when the key becomes free. The Locker then does not
// poll.
type Queuer interface {
	// Acquire is TryAcquire that waits for its turn. It returns when the key is granted or
	// the backend fails. When ctx ends, the error wraps ctx.Err(), and a [*HeldError] if the
	// holder is known. When r.Backoff is spent, it wraps [ErrNotAcquired]. After an error the
	// Locker either calls Acquire again with the same Owner, which must keep its
	// place, or calls Release, which must give it up.
	//
	// A message from the store may only save time: an implementation must also
	// look again when r.Backoff says so.
	Acquire(ctx context.Context, r Request) (Grant, error)
}

// Extender is an ability of a [Queuer] that knows whether other owners wait in the
// store's queue. While a Locker hands a key from one goroutine to the next, it then
// asks whether it may continue, instead of giving the key back to find out.
type Extender interface {
	// Extend extends g to a full TTL from now, and shortens nothing. It issues at least one
	// token and at most the number asked for. Each is larger than g.LastToken and than every
	// other token issued so far. It returns g with the new tokens and the new time of sending.
	//
	// If other owners wait it changes nothing, and the error wraps [ErrNotAcquired].
	// If g.Owner does not have the key, it creates nothing, and the error wraps
	// [ErrLost]. Any other error means that the outcome is unknown.
	Extend(ctx context.Context, g Grant, tokens int) (Grant, error)
}

// Waker is an ability of a [Backend] without a queue that can tell waiters when to look
// again. The Locker then makes an attempt at once when the key becomes free, besides those
// that it makes at intervals. It promises no order: the fastest waiter gets the key.
type Waker interface {
	// Wake returns a channel that receives a value each time that the key may have
	// become free. It must also receive one when the watch has begun, and when it has begun
	// again after an interruption: an attempt for each value then misses no release. Values may come without a reason, and may be combined.
	//
	// Wake must not block. The watch ends with ctx; the channel is never closed.
	Wake(ctx context.Context, key string) <-chan struct{}
}

// Pinger is an ability of a [Backend] that can check whether its store answers.
type Pinger interface {
	// Ping returns nil if the store could grant a lock now, as far as one round
	// trip can tell. The error contains the address of the server and the cause.
	Ping(ctx context.Context) error
}
