// Package driver is the contract between a [distlock.Locker] and its store: what the
// author of a store implements. Programs that only use locks need the package distlock
// alone.
//
// A store is a [Backend]. Its optional abilities are interfaces that the same type
// implements: [Queuer], [Extender], [Waker], [Inspector], [Revoker] and [Pinger]. What else
// it can do, and its limits, it declares in [Features].
//
// A Backend speaks the protocol of one store, and never waits for a holder. Waiting, retries,
// the schedule of renewals, re-entry and the queue inside the process belong to the Locker.
// Package locktest is the conformance suite: each "must" in this package is one of its cases.
//
// Until version 2 of the module, this package may change in a minor version. The changelog
// then says what the author of a backend has to do. Programs that only use locks notice
// nothing.
//
// [distlock.Locker]: https://pkg.go.dev/github.com/distlock-go/distlock#Locker
package driver

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/owner"
)

// Backend takes, renews and releases locks in one store.
//
// Every method must be safe for concurrent use, and must return soon after ctx ends. It must
// bound its own network operations: a hung server must not hang a caller for longer than a
// few seconds. An error need not match the error of ctx: the Locker adds that, and its cause.
//
// A request can reach the store late, after others of the same owner: networks delay, and
// clients repeat. So no request may shorten a lease. Wherever a method extends a lease to
// TTL from now, the lease of an owner that would last longer must stay as it is. The only
// exception is Renew of a grant with [Grant].Retain.
//
// A store that tells no time leaves it to its clients: each counts a lease from when it first
// saw it in its present version, on its own monotonic clock, and with a margin. A newcomer
// then waits up to a second lease for a holder that has died.
//
// A Backend belongs to one Locker, which closes it if it is an [io.Closer]. Close must send
// what is pending, such as releases and places to delete, or leave it to the store to end. It
// must not end what [Grant].Retain keeps.
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
	// Locker calls Release, or tries again with the same Owner unless the error wraps
	// [errors.ErrUnsupported], as after Close. The error should name the server and the cause.
	TryAcquire(ctx context.Context, r Request) (Grant, error)

	// Renew extends each grant to a full TTL from now, in as few round trips as it can, and
	// shortens none. It must report one result for each grant, by its index, as soon as the
	// result is known: the silence of one server must not delay the results of another. It
	// may call report from several goroutines at once, but must not call it after it has
	// returned. One call may have all leases of a process that are due: thousands. It may keep
	// the slice: the caller does not change it afterwards.
	//
	// The result is nil if the grant was extended, and wraps [ErrLost] if the store says that
	// the owner does not have the key. Any other error, and no report, means that the outcome
	// is unknown.
	//
	// The TTL is [Grant].TTL. With [Grant].Retain it differs from what was first asked
	// for: the lease must then end TTL from now, whether that is later than
	// before or sooner. A backend that cannot take any TTL declares [Features].MaxTTL. A
	// grant that is gone must be reported lost and must never be created anew. An answer
	// that may be old, as from a replica or a cache, must never be reported as a loss.
	Renew(ctx context.Context, grants []Grant, report func(i int, err error))

	// Release gives the key back if g.Owner still has it, and gives up the owner's
	// place in the store's queue if it waits there. A grant of another owner must not
	// be touched: then the error must wrap [ErrLost]. Releasing again is not an error
	// if the release before had no answer; if it had one, the error may wrap
	// [ErrLost]. It is not an error either to release what was never granted, as
	// [Request.Grant], whose Sent is zero, if the key has no holder. Any other error
	// means that the outcome is unknown.
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

	// HandOff reports whether TryAcquire honours [Request].From.
	HandOff bool

	// MinTTL is the shortest TTL that makes sense with the store; 0 means a millisecond. The
	// Locker refuses a shorter KeyTimeout. A store whose unit is longer rounds a TTL up.
	MinTTL time.Duration

	// MaxTTL is the longest TTL that the store keeps a key for; 0 means no limit. The
	// Locker never asks for more. TryAcquire and Renew must refuse a longer TTL at
	// once, with an error that wraps none of this package's errors: nothing was
	// granted, and nothing is lost.
	MaxTTL time.Duration
}

// Waker is an ability of a [Backend] that tells a waiter when its next attempt may succeed,
// so that the Locker need not ask all the time. Alone it promises no order: the fastest
// waiter gets the key.
type Waker interface {
	// Turn is called after an attempt of r.Owner was refused. The channel receives the zero
	// Grant when another attempt may succeed. It receives the grant itself if the store has
	// granted the key to the owner meanwhile. It is closed when it tells no more: the Locker
	// makes an attempt then, and calls Turn again if that is refused.
	//
	// No release after the refused attempt may be missed: where one may have been, the
	// channel must receive a value. Values may come without a reason, and may be combined.
	// Turn must not block. The watch ends with ctx, and the channel is not used any more.
	Turn(ctx context.Context, r Request) <-chan Grant
}

// Queuer is an ability of a [Waker] that serves waiters in order of arrival.
type Queuer interface {
	Waker

	// Enqueue is TryAcquire that takes a place in the queue if it is refused. If the owner
	// has a place already it must keep it. Release gives the place up.
	//
	// An owner may die in its place. The place must then end by itself, and must not keep
	// others waiting for longer than a lease of its own.
	Enqueue(ctx context.Context, r Request) (Grant, error)
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

// Revoker is an ability of a [Backend] that can ask holders to give a key back.
// Nothing is taken away: a holder that does not listen keeps the key.
type Revoker interface {
	// Revoke asks all holders of the key to give it back. It returns whether the key is
	// held. A store without a memory for this may lose the message: the caller repeats
	// it, or takes the key away with [Inspector].ForceRelease.
	Revoke(ctx context.Context, key string) (held bool, err error)

	// Revoked returns a channel that is closed when the owner of g is asked to give the
	// key back, for as long as ctx lasts. It returns when no request is missed any more, and
	// in any case after the time of one operation. An owner that was asked before may be
	// told at once. The owner is told within a renewal interval, a third of its lease, also if
	// it does not renew. An owner that ForceRelease took the key away from may be told, too:
	// the Locker then renews at once, and learns of the loss.
	Revoked(ctx context.Context, g Grant) <-chan struct{}
}

// Pinger is an ability of a [Backend] that can check whether its store answers.
type Pinger interface {
	// Ping returns nil if the store could grant a lock now, as far as one round
	// trip can tell. The error contains the address of the server and the cause.
	Ping(ctx context.Context) error
}

// MaxTokens is the largest number of tokens of a [Request]. It is enough for holders that
// take 3 µs, for 3 ms.
const MaxTokens = 1024

// Request asks for a key.
type Request struct {
	// Key is UTF-8 text of at most 200 bytes. It has neither white space nor control
	// characters, and braces only around one hash tag, which is not empty, as in
	// {order}:1.
	Key string

	// Owner is a random UUID in its usual form of 36 characters, with 122 random bits,
	// fresh for every acquisition. It may be followed by "@" and the name of the
	// holder, which is for people: [HolderOf] returns it. Both are printable ASCII
	// without spaces and colons. A backend stores the owner unchanged; if the store has
	// a separate place for the name, the backend may keep the name there.
	Owner string

	// TTL is the length of the lease: whole milliseconds, at least one.
	TTL time.Duration

	// Mode and Permits say which holders the key can have at the same time: see
	// [Sharing]. They are zero unless the backend declares [Features].Sharing.
	Mode    Mode
	Permits int

	// Tokens is how many fencing tokens the grant should carry: 1 to [MaxTokens].
	// A backend may give fewer than asked for, but at least one, or none at all.
	Tokens int

	// Renews says that the caller renews the lease as long as it holds it, so that a
	// [Queuer] may return a grant with [Grant].Until.
	Renews bool

	// From, if it is not empty, is an owner that has handed its lease off to Owner. In one
	// atomic step, TryAcquire must put Owner in its place, and must issue no token. The place
	// in the queue, and a lease that lasts longer than TTL, stay as they are. If Owner has the
	// key already, it succeeds as ever. If neither has it, the error must wrap [ErrLost], and
	// nothing changes. The tokens of the grant are of no use to the Locker. From is empty
	// unless the backend declares [Features].HandOff.
	From string
}

// Sharing returns the part of r that says which holders the key can have at the same
// time.
func (r Request) Sharing() Sharing { return Sharing{r.Mode, r.Permits} }

// Grant returns the grant that r asks for, without tokens and time. Release takes it to
// abandon a request with an unknown outcome.
func (r Request) Grant() Grant {
	return Grant{Key: r.Key, Owner: r.Owner, TTL: r.TTL, Mode: r.Mode, Permits: r.Permits}
}

// Grant is a key that an owner has for a TTL.
type Grant struct {
	Key   string
	Owner string

	// TTL is the TTL of the request, or less if the store does not keep a key for so
	// long.
	TTL time.Duration

	// Mode and Permits are as in the request.
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

	// Until, if it is not zero, is when the lease ends unless it is renewed, although TTL
	// is longer. A store may grant a key to a waiter for a short time at first, so that
	// the waiter has it without another round trip. The Locker renews such a lease when
	// a third of this time has passed. Sent is then the time at which the waiter learned
	// of the grant.
	Until time.Time

	// Contended reports whether other owners wait in the store's queue.
	Contended bool

	// Retain is set by the Locker for the last Renew of an owner that is done, because of
	// MinHold: the store keeps the key for TTL from then on, and no longer. A late copy
	// of an earlier request may lengthen that by a lease.
	Retain bool
}

// Sharing returns the part of g that says which holders the key can have at the same
// time.
func (g Grant) Sharing() Sharing { return Sharing{g.Mode, g.Permits} }

// HolderOf returns the name of the holder in an owner. It returns "" if the owner has
// no name or was not made by a Locker.
func HolderOf(o string) string { return owner.Holder(o) }

// errNoReport is the result of a grant without a report.
var errNoReport = errors.New("no answer")

// RenewAll calls b.Renew and returns what it reports, in the order of the grants, when all
// is known.
func RenewAll(ctx context.Context, b Backend, grants []Grant) []error {
	results := slices.Repeat([]error{errNoReport}, len(grants))
	var mu sync.Mutex
	b.Renew(ctx, grants, func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		results[i] = err
	})
	return results
}

// Mode says whether a key can have several holders at the same time.
type Mode int

// The modes. The zero value is Exclusive.
const (
	// Exclusive admits one holder.
	Exclusive Mode = iota

	// Shared admits any number of holders that ask for Shared, the readers. It
	// excludes holders that ask for Exclusive.
	Shared
)

// String returns the mode in lower case.
func (m Mode) String() string {
	switch m {
	case Exclusive:
		return "exclusive"
	case Shared:
		return "shared"
	default:
		return "Mode(" + strconv.Itoa(int(m)) + ")"
	}
}

// Sharing says which holders a key can have at the same time. With Permits above 0 the
// key is a semaphore, and Mode is Exclusive.
type Sharing struct {
	Mode    Mode
	Permits int
}

// Admits reports whether one more holder, which asks for o, may join n holders that have
// s. Readers join readers. A semaphore counts by the permits that the new holder asks
// for. If n is 0 the key is free and s does not count.
func (s Sharing) Admits(n int, o Sharing) bool {
	switch {
	case n == 0:
		return true
	case s.Permits > 0:
		return n < o.Permits
	default:
		return s.Mode == Shared && o.Mode == Shared
	}
}
