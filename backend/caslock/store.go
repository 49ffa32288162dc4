package caslock

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock/driver"
)

// ErrChanged says that a cell does not have the expected version any more. A [Store] may wrap
// it.
var ErrChanged = errors.New("the version has changed")

// ErrNoAnswer says that a request had no answer, and that it makes sense to send it once more:
// a connection was cut, or no leader was elected. A [Store] may wrap it. A swap is not
// repeated.
var ErrNoAnswer = errors.New("no answer")

// linePrefix begins the keys of cells that no lock has. The keys of locks have no such character.
const linePrefix = "\x00"

// Store keeps cells. A cell has a key, a value and a version. Its methods must be safe for
// concurrent use.
//
// Every call gets a context with a time limit, and must return soon after it ends. An error
// needs no more than the cause: if the store is a [fmt.Stringer], its text, with the address of
// the server, comes first.
type Store interface {
	// Load returns the value of a cell and its version. Both are empty if there is no cell.
	// The answer must not be older than the call: a replica that lags must not give it.
	Load(ctx context.Context, key string) (value []byte, version string, err error)

	// Swap replaces the value if the cell still has that version, in one step, and returns
	// the new version. An empty version means that there is no cell yet. The error wraps
	// [ErrChanged] if the cell has another version: then nothing was written. After any other
	// error the outcome is unknown, and the request may still arrive.
	//
	// A version is opaque text. While a request may still arrive, the cell must not get a
	// version that it had before. A version may depend on the value alone: no value comes
	// twice.
	//
	// A store may forget a cell that nobody has written for a long time: see
	// [Config].MaxTTL.
	Swap(ctx context.Context, key, version string, value []byte) (string, error)
}

// Checker is an ability of a [Store] that can tell whether it keeps locks at all. It may make
// what is missing, such as a table, and call [Try].
type Checker interface {
	// Check is called before the first use, and again until it returns nil, never twice at the
	// same time. Its error names what is unfit.
	Check(ctx context.Context) error
}

// Lister is an ability of a [Store] that can list its cells. Without it only a single key can
// be inspected.
type Lister interface {
	// List calls each for every cell whose key begins with the prefix. It may call it for
	// other cells. It stops when each returns false.
	List(ctx context.Context, prefix string, each func(key string, value []byte, version string) bool) error
}

// Messenger is an ability of a [Store] that can pass messages between processes. Without it
// waiters look at the store at intervals of half a second.
type Messenger interface {
	// Send passes data to the listeners of the topic. A message may be lost.
	Send(ctx context.Context, topic string, data []byte)

	// Listen calls f with nil when it has begun to listen, and then for each message of the
	// topic. It returns when ctx ends, or at an interruption: then it is called again.
	Listen(ctx context.Context, topic string, f func(data []byte))
}

// Tickets is an ability of a [Store] that can keep a ticket for each waiter, and read the
// oldest tickets of a key. Without it the waiters of a key are in one cell, which is slower
// from about a hundred waiting processes on.
//
// Tickets need no durability: if they are lost, waiters notice and come back.
type Tickets interface {
	// PutTicket makes a ticket, unless the owner has one.
	PutTicket(ctx context.Context, key, owner string, value []byte) error

	// RemoveTicket removes the ticket of the owner, if there is one.
	RemoveTicket(ctx context.Context, key, owner string) error

	// OldestTickets returns the values of the first n tickets in the order in which they
	// were made. As with Load, a replica that lags must not give the answer: a waiter that it
	// does not know yet would not be woken.
	OldestTickets(ctx context.Context, key string, n int) ([][]byte, error)
}

// Try checks that conditional writes of a store are atomic: of several at the same time, one
// must succeed. Some copies of a store ignore one of the conditions, or look at it before they
// write. A store that passes may still be unfit. Try writes a cell that no lock uses.
func Try(ctx context.Context, s Store) error {
	const writers, key = 8, linePrefix + "try"
	for range 2 { // there may be no cell the first time
		value, version, err := s.Load(ctx, key)
		if err != nil {
			return err
		}
		r, _ := parse(value)
		results, won := make(chan error, writers), 0
		for i := range writers {
			r.step()
			mine, expected := encode(record{Form: form, Count: r.Count}), []string{version, ""}[i%2]
			go func() {
				_, err := s.Swap(ctx, key, expected, mine)
				results <- err
			}()
		}
		for range writers {
			if swapErr := <-results; swapErr == nil {
				won++
			} else if !errors.Is(swapErr, ErrChanged) && !errors.Is(swapErr, driver.ErrNotSent) {
				err = swapErr
			}
		}
		if won > 1 {
			return fmt.Errorf("%d of %d writes succeeded where one may: the store's conditional writes are not atomic, and it cannot keep locks", won, writers)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
