package locktest

import (
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Features says what a backend leaves out of the contract, and has functions for what the
// suite needs and a Backend cannot do. The zero value means the whole contract, in real
// time. Cases that need a function are skipped without it. The suite finds the abilities
// of the backend by itself.
type Features struct {
	// Bubble runs each case in its own testing/synctest bubble, in virtual time. The
	// backend is made inside the bubble, and must have all its goroutines there.
	Bubble bool

	// Lease is the TTL of leases that cases let expire. A slow server needs a longer
	// one. In real time the suite takes about sixty times as long. The default is
	// 400 ms.
	Lease time.Duration

	// NoTokens: grants carry no fencing tokens, and both are zero.
	NoTokens bool

	// NoAddress: the backend is given connections, and does not know where they lead, so its
	// errors cannot say it.
	NoAddress bool

	// Settle is how long a free key may still be refused. On a quorum of nodes, a failed
	// attempt gives back what it has taken on some of them only after it has failed. The
	// default, zero, means that a free key is never refused.
	Settle time.Duration

	// Resend is the shortest time that a Release takes if it was sent twice because the
	// first reply did not come. Such a Release need not report a loss: the first request
	// may have given the key back, and another owner may have it since. The default,
	// zero, means that every Release reports a loss.
	Resend time.Duration

	// Drop makes the store forget the holder of key without the backend, as a DEL by an
	// operator does, or a server that loses its data.
	Drop func(t *testing.T, b driver.Backend, key string)

	// Over returns another backend on the store of first, as another process has. All
	// its connections are opened by n, or lead to a proxy of n. Use the limits for an
	// operation that users have.
	Over func(t *testing.T, first driver.Backend, n *Network) driver.Backend

	// NoNetwork says that no network is between a backend and its store: the store is in the
	// memory of the process, or in a file. In real time, either this or Over must be set.
	NoNetwork bool

	// Peer returns a second backend on the store of first, as another process has.
	// It may return first itself if the backend is the store and is not closed. The default
	// is Over with a network without faults.
	Peer func(t *testing.T, first driver.Backend) driver.Backend

	turn   *sync.Mutex // of Over and Peer
	stalls bool        // for tests of the suite: in a bubble, with the limits of real time
}
