package redlock

import "time"

const (
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
func (b *Backend) Owners() int {
	b.owners.mu.Lock()
	defer b.owners.mu.Unlock()
	return len(b.owners.known)
}

// InFlight returns how many owners have an operation in flight or in doubt.
func (b *Backend) InFlight() (n int) {
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
func (b *Backend) PendingReleases() (n int) {
	for _, node := range b.nodes {
		n += int(node.pending.count.Load())
	}
	return n
}

// NodeTTL returns how long a node keeps a lease of ttl.
func NodeTTL(ttl time.Duration) time.Duration { return nodeTTL(ttl) }
