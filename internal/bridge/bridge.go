// Package bridge has what packages wiring, admin and fence need of the root package and no
// user does. The root sets the variables when it is initialized. Most of their types name types
// of the root, which imports this package, so they are any; the comments have the types.
package bridge

import (
	"context"
	"slices"
)

// Ticket is a lease, or what came of one with a call.
type Ticket interface {
	Key() string
	Token() uint64
}

// Carried has a context return the Tickets that came with a call, for the root to see.
type Carried struct{}

// Tickets may have several for a key. The first one counts.
type Tickets []Ticket

// Find returns the ticket of a key, or nil.
func (all Tickets) Find(key string) Ticket {
	if i := slices.IndexFunc(all, func(t Ticket) bool { return t.Key() == key }); i >= 0 {
		return all[i]
	}
	return nil
}

// CarriedBy returns the tickets in a context that came with a call, the newest first.
func CarriedBy(ctx context.Context) Tickets {
	tickets, _ := ctx.Value(Carried{}).(Tickets)
	return tickets
}

// Leases returns the exclusive leases under which the caller runs, the innermost first: none in
// a program without the root.
var Leases = func(context.Context) Tickets { return nil }

var (
	// Site is a func(locker *distlock.Locker, name string, opts distlock.Opts) any. It returns
	// options that are bound to a Locker; package wiring has the methods in an interface.
	Site any

	// RefusedOptions is a func(name string, opts *distlock.Opts, err error) error.
	RefusedOptions any

	// Key is a func(opts distlock.Opts, params any) (string, error).
	Key any

	// CheckKey returns an error if key is not a full key.
	CheckKey func(key string) error

	// Finish is a func(lease *distlock.Lease, err *error). It ends a call of a function that
	// has returned err. The lease is nil if none was needed.
	Finish any

	// Unanswered returns the error for a caller with ctx whose request the backend has not
	// answered, as err says.
	Unanswered func(ctx context.Context, err error) error

	// Operate is a func(context.Context, *distlock.Locker, func(driver.Backend) error) error. It
	// calls the function unless ctx has ended or the Locker is closed, and Close waits for it.
	Operate any

	// Owner is a func(*distlock.Lease) string.
	Owner any

	// Kept is a func(locker *distlock.Locker, prefix string) map[string]time.Time. It returns
	// since when functions of this process run whose leases are over, by the key.
	Kept any

	// Taken is a func(locker *distlock.Locker, key string) (tell func()). The holders that this
	// process has at the time of the call are told by tell that they have lost the key.
	Taken any

	// Handle is a func(handle string) (driver.Grant, error). It returns the grant that the handle
	// stands for.
	Handle any

	// Waiting is a func(locker *distlock.Locker, key string) int. It returns how many callers
	// of this process wait for the key behind another one of this process.
	Waiting any
)
