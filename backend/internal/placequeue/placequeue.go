// Package placequeue is for stores in which an owner that waits, and one that has the
// key, each have a place in the same queue, until the session of their process ends. It
// has the rule for who has the key. It also has the part of a Backend in its process:
// tickets, leases, waits, renewals and releases.
package placequeue

import (
	"context"

	"github.com/distlock-go/distlock/driver"
)

// Place is one owner's place in the queue of a key.
type Place interface {
	// Sharing returns what the owner asks for.
	Sharing() driver.Sharing
}

// Blockers returns the places of q that place i waits for: while all of them are there,
// it cannot have the key. If there are none, it has the key. [driver.Sharing.Admits] is
// the rule, applied to the places in front of place i as if all of them had the key.
//
// Usually there is one blocker, the nearest place in front that does not share the key
// with place i. A request for one of n permits waits for the n places in front of it if
// all of those ask for permits; each that goes may be enough.
func Blockers[Q ~[]P, P Place](q Q, i int) Q {
	s := q[i].Sharing()
	for n := 1; n <= i; n++ {
		front := q[i-n].Sharing()
		switch {
		case !front.Admits(1, s):
			return q[i-n : i-n+1]
		case !front.Admits(n, s):
			return q[i-n : i]
		}
	}
	return nil
}

// Split returns the places that have the key, and the places that wait for it.
func Split[Q ~[]P, P Place](q Q) (held, waiting Q) {
	for i, p := range q {
		if len(Blockers(q, i)) == 0 {
			held = append(held, p)
		} else {
			waiting = append(waiting, p)
		}
	}
	return held, waiting
}

// Tokens returns n fencing tokens, but at most limit, for a place. The store gives each
// write of a place a number, and numbers rise. The tokens of a number are larger than
// all tokens of smaller numbers.
func Tokens(number int64, limit, n int) (first, last uint64) {
	first = uint64(number) * uint64(limit)
	return first, first + uint64(min(max(n, 1), limit)) - 1
}

// Obstacle is why an owner does not get the key now.
type Obstacle interface {
	// Watch returns a channel with a value when the obstacle may be gone, or a little
	// later if it cannot be watched. It watches until ctx ends.
	Watch(ctx context.Context) <-chan struct{}
	// Ended returns a channel that is closed when the session of the owner's place has
	// ended.
	Ended() <-chan struct{}
	// Remains reports whether the obstacle and the owner's place are still there. It
	// costs less than an attempt.
	Remains(ctx context.Context) bool
	// Err returns why the owner does not have the key. It names the holder if that
	// costs no request, or if thorough is true.
	Err(ctx context.Context, thorough bool) error
}

// wait is what is known of an owner since its last attempt was refused. The table's
// mutex guards it.
type wait struct {
	obstacle Obstacle
	over     bool          // the obstacle may be gone
	replaced chan struct{} // closed when the next attempt has its result
}
