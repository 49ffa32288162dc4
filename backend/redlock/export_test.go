package redlock

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// Backend is the type that New returns.
type Backend = backend

// Open is New for tests that use more than a [driver.Backend].
func Open(clients []redis.UniversalClient, cfg Config) *Backend { return New(clients, cfg).(*backend) }

const (
	MaxLease    = defaultMaxLease
	MarkerKey   = markerKey
	SilentAfter = silentAfter
	MaxTries    = maxTries
)

// The hashes of scripts.
var (
	AcquireHash = acquireScript.Hash()
	ReleaseHash = releaseScript.Hash()
	RenewHash   = renewScript.Hash()
	RestoreHash = restoreScript.Hash()
	MintHash    = mintScript.Hash()
)

// Owners returns how many owners the Backend knows.
func (b *backend) Owners() int {
	b.owners.mu.Lock()
	defer b.owners.mu.Unlock()
	return len(b.owners.known)
}

// InFlight returns how many owners have an operation in flight or in doubt.
func (b *backend) InFlight() (n int) {
	b.owners.mu.Lock()
	defer b.owners.mu.Unlock()
	for _, o := range b.owners.known {
		operations := 0
		for _, s := range o.nodes {
			operations += s.pending + s.inDoubt
		}
		if operations > 0 {
			n++
		}
	}
	return n
}

// PendingReleases returns how many releases the Backend repeats, on all nodes.
func (b *backend) PendingReleases() (n int) {
	for i := range b.pending {
		n += int(b.pending[i].count.Load())
	}
	return n
}

// NodeTTL returns how long a node keeps a lease of ttl.
func NodeTTL(ttl time.Duration) time.Duration { return nodeTTL(ttl) }

// NodeTokens is what a node knows about the tokens of a lock.
type NodeTokens struct {
	Now, First, Last uint64
	Ours             bool
}

// NextTokens is nextTokens.
func NextTokens(want uint64, known ...NodeTokens) (first, last uint64) {
	var all []nodeTokens
	for _, t := range known {
		all = append(all, nodeTokens{t.Now, t.First, t.Last, t.Ours})
	}
	return nextTokens(all, want)
}
