package distlock

import (
	"context"
	"time"
)

// Backend speaks the protocol of one store. It knows nothing of retries,
// renewal schedules, re-entry or queues inside the process: all that is the
// [Locker]'s, written once. Package locktest holds the conformance suite; each
// "must" below is a case of it.
//
// Every method must be safe for concurrent use, must bound its own network
// operations (a hung server must not hang a caller beyond a few seconds, nor
// beyond its context), and must return soon after ctx ends.
//
// A Backend belongs to one Locker, which closes it if it is an [io.Closer].
type Backend interface {
	// TryAcquire makes one attempt and never waits for a holder.
	//
	// It must be idempotent for one Owner: an owner that already holds the key
	// succeeds, with the same tokens and with a lease of TTL from now. This is
	// what makes a lost reply harmless.
	//
	// If another owner holds the key, the error must wrap [ErrNotAcquired]; a
	// [*HeldError] also says when to look again and names the holder. If the key
	// contains a lock of another kind, the error must wrap [ErrForeign]. Any other
	// error means that the outcome is unknown: the Locker tries again with the same
	// Owner or calls Release. The error should contain the address of the server and
	// the cause.
	TryAcquire(ctx context.Context, r Request) (Grant, error)

	// Renew extends each grant to a full TTL from now, in as few round trips as
	// it can, and must return one result for each grant, in order. The TTL is
	// that of the grant it is given, which for [Opts].MinHold is another than was
	// asked for at first, longer or shorter; a backend that does not take any TTL
	// must be a [Limiter]. A grant that is gone must be reported
	// [Lost] and must never be created anew.
	Renew(ctx context.Context, grants []Grant) []RenewResult

	// Release gives the key back if g.Owner still has it, and gives up the
	// owner's place in line if it waits in one. A grant of another owner must
	// not be touched: then the error must wrap [ErrLost]. Releasing again what
	// this owner has released is not an error, nor is releasing a claim
	// ([Request.Claim]) on a key that nobody has. Any other error means that the
	// outcome is unknown.
	//
	// After a release an owner is used no more: a backend may refuse it, so that
	// an attempt that was overtaken on its way takes the key for nobody.
	Release(ctx context.Context, g Grant) error
}

// Queuer is an ability of a [Backend] that keeps waiters in a line, in order of
// arrival, and wakes the first when the key comes free. The [Locker] then does
// not poll.
type Queuer interface {
	// Acquire is TryAcquire that waits for its turn. It returns when the key is
	// granted, when ctx ends (an error that wraps ctx.Err(), and a [*HeldError] if
	// the holder is known), when r.Backoff is spent (an error that wraps
	// [ErrNotAcquired]), or when the backend fails (any other error). After an error
	// the Locker either calls Acquire again with the same Owner, which must keep its
	// place, or calls Release, which must give it up.
	//
	// A message from the store may only save time: an implementation must also
	// look again when r.Backoff says so.
	Acquire(ctx context.Context, r Request) (Grant, error)
}

// Prolonger is an ability of a [Queuer] that knows whether others wait in the
// store's line. The [Locker] then asks, while a key goes from hand to hand in this
// process, whether it may go on doing so, instead of giving the key back to see
// that nobody else wants it.
type Prolonger interface {
	// Prolong extends g to a full TTL from now and mints further tokens, as many
	// as asked for or fewer but not none, each larger than all before. What it
	// returns is g with the new tokens and the new time of sending.
	//
	// If others wait it changes nothing, and the error wraps [ErrNotAcquired]. If
	// g.Owner does not have the key, it creates nothing, and the error wraps
	// [ErrLost]. Any other error means that the outcome is unknown.
	Prolong(ctx context.Context, g Grant, tokens int) (Grant, error)
}

// Router is an ability of a [Backend] whose keys are spread over several servers,
// of which one may be slow while the others are not.
type Router interface {
	// Route names the server that has key, as far as is known without asking the
	// store. The [Locker] renews what has the same route together, and apart from the
	// rest, so that no server's silence costs the leases of another. The name may
	// be wrong, or empty if nothing is known.
	Route(key string) string
}

// AllAcquirer is an ability of a [Backend] that can take several keys in one step,
// which [Locker.AcquireAll] tries first.
type AllAcquirer interface {
	// TryAcquireAll makes one attempt for all requests, of which no two are for
	// one key or by one owner: either each is granted, as TryAcquire does it, or
	// nothing has changed. If another owner has one of the keys, or waits for it,
	// the error must wrap [ErrNotAcquired]. If these keys cannot be taken in one
	// step, the error wraps [errors.ErrUnsupported], and nothing has changed
	// either. With any other error the outcome is unknown.
	TryAcquireAll(ctx context.Context, rs []Request) ([]Grant, error)
}

// Sharer is an ability of a [Backend] that honours [Request].Mode and
// [Request].Permits. With a backend that has it not, the [Locker] refuses both.
type Sharer interface {
	// Shares is never called. It marks the type.
	Shares()
}

// Limiter is an ability of a [Backend] that limits how long a key may be kept. The
// [Locker] refuses options that exceed the limit, and never asks for a longer TTL.
type Limiter interface {
	// MaxTTL returns the longest TTL. It must not change. TryAcquire and Renew must
	// refuse a longer TTL at once, with an error that wraps none of the package's
	// sentinels: nothing was granted, and nothing is lost.
	MaxTTL() time.Duration
}

// Pinger is an ability of a [Backend] that can check whether its store answers.
type Pinger interface {
	// Ping returns nil if the store could grant a lock now, as far as one round
	// trip can tell. The error contains the address of the server and the cause.
	Ping(ctx context.Context) error
}

// Request asks for a key.
//
// The Owner is a random UUID in its usual form of 36 characters, with 122 random
// bits. It may be followed by "@" and the name of the holder, which is for people:
// [HolderOf] returns the name. Both are printable ASCII without spaces and colons. A
// backend stores the owner unchanged; if the store has a separate place for such a
// name, the backend may keep the name there.
type Request struct {
	Key   string
	Owner string        // fresh for every acquisition: see below
	TTL   time.Duration // whole milliseconds, at least one

	// Mode and Permits say who may hold the key at the same time. With Permits
	// above 0, at most so many holders at once, each of which asks for Permits;
	// Mode is Exclusive then. A backend that is no [Sharer] sees neither.
	Mode    Mode
	Permits int

	// Tokens is how many fencing tokens the grant should carry: at least 1.
	// A backend may give fewer than asked for, but not none.
	Tokens int

	// Backoff says when a [Queuer] looks again without having been woken, and
	// when it gives up. It belongs to this acquisition. TryAcquire ignores it.
	Backoff *Backoff
}

// Claim returns the grant that r would become: what Release needs to give up a
// request whose outcome is unknown.
func (r Request) Claim() Grant {
	return Grant{Key: r.Key, Owner: r.Owner, TTL: r.TTL, Mode: r.Mode, Permits: r.Permits}
}

// Grant is a key that an owner has for a TTL.
type Grant struct {
	Key   string
	Owner string

	// TTL is that of the request, or less if the store does not keep a key for so
	// long.
	TTL time.Duration

	// Mode and Permits are those of the request.
	Mode    Mode
	Permits int

	// Token to LastToken are this grant's fencing tokens, each larger than every
	// token of every earlier grant of the key. Both are zero if the backend has
	// none to give.
	Token, LastToken uint64

	// Sent is the time just before the request that was granted was sent. The
	// lease counts from here: the reply tells nothing about when the server
	// started its clock.
	Sent time.Time

	// Contended tells that others wait in the store's line.
	Contended bool
}

// RenewStatus is what became of one grant in [Backend].Renew.
type RenewStatus int

// The outcomes of a renewal. The zero value is the one that claims nothing.
const (
	Unknown RenewStatus = iota // no answer: it may or may not have been renewed
	Renewed                    // extended to a full TTL
	Lost                       // the store says that this owner does not have the key
)

// String returns the status in lower case.
func (s RenewStatus) String() string {
	switch s {
	case Renewed:
		return "renewed"
	case Lost:
		return "lost"
	default:
		return "unknown"
	}
}

// RenewResult is the outcome for one grant.
type RenewResult struct {
	Status RenewStatus
	Err    error // why it is unknown; nil otherwise
}
