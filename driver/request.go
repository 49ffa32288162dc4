package driver

import (
	"time"

	"github.com/distlock-go/distlock/internal/backoff"
	"github.com/distlock-go/distlock/internal/owner"
)

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

	// Backoff says when a [Queuer] looks again without having been woken, and when it
	// gives up. It belongs to this acquisition. TryAcquire ignores it.
	Backoff Backoff
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

// Backoff is the wait budget of one acquisition. It is not safe for concurrent use.
type Backoff interface {
	// Wait returns how long to wait before the next attempt unless woken earlier. It
	// returns false if the budget is spent.
	Wait() (time.Duration, bool)
}

// NewBackoff returns a wait budget of the given attempts; 0 means no limit, 1 means one
// attempt and no wait. A wait is uniform in [interval, 2*interval). The interval must be
// positive. The Locker makes the budgets of its requests itself; this is for a Backend
// that is called without one, and for its tests.
func NewBackoff(interval time.Duration, attempts int) Backoff {
	return backoff.New(interval, attempts)
}

// HolderOf returns the name of the holder in an owner. It returns "" if the owner has
// no name or was not made by a Locker.
func HolderOf(o string) string { return owner.Holder(o) }
