package redlock

import (
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// Config configures the backend that [New] returns. Its zero value works.
type Config struct {
	// NodeTimeout is how long the backend waits for one node. It must be far shorter
	// than the leases: otherwise a lease ends before a quorum has answered. The backend
	// never waits for longer than a quarter of the lease. It must also be longer than a
	// connection to the farthest node takes. The default is 50 ms.
	NodeTimeout time.Duration

	// MaxLease is the longest lease, and thereby the longest [distlock.Opts].KeyTimeout
	// and MinHold. A node that was restarted may have lost locks, and does not count
	// for this time. All processes that share locks must use the same value. The
	// default is a minute.
	MaxLease time.Duration

	// TrustedStart makes new nodes count from the start if, at the first attempt of the
	// backend, all nodes answer and none of them was used for locks before. It is for
	// demos, tests, and the first start in production. It is unsafe if all nodes can
	// lose their data together while a lease is running. Without it nothing can be
	// locked on new nodes until the longest lease has passed. It changes nothing for a
	// node that comes back later.
	TrustedStart bool

	// Tokens gives each grant fencing tokens. It takes a second round trip to a quorum.
	// All processes that share locks must use it, or none.
	Tokens bool
}

// withDefaults fills in the zero fields, and panics for a field that makes no sense.
func (c Config) withDefaults() Config {
	c.NodeTimeout = rediskit.Duration("redlock", "NodeTimeout", c.NodeTimeout, 50*time.Millisecond)
	c.MaxLease = rediskit.Duration("redlock", "MaxLease", c.MaxLease, defaultMaxLease)
	return c
}

const defaultMaxLease = time.Minute
