package redlock

import "time"

const (
	MarkerKey   = markerKey
	SilentAfter = silentAfter
)

// Hashes of scripts.
var (
	AcquireHash = acquireScript.Hash()
	ReleaseHash = releaseScript.Hash()
)

// Claims returns how many owners the Backend has records of.
func (b *Backend) Claims() int { return b.claims.size() }

// Busy returns how many owners have requests in flight or in doubt.
func (b *Backend) Busy() (n int) {
	b.claims.mu.Lock()
	defer b.claims.mu.Unlock()
	for _, c := range b.claims.owners {
		busy := 0
		for _, p := range c.places {
			busy += p.pending + p.doubts
		}
		if busy > 0 {
			n++
		}
	}
	return n
}

// Debts returns how many releases are pending for all nodes.
func (b *Backend) Debts() (n int) {
	for _, node := range b.nodes {
		node.debts.mu.Lock()
		n += len(node.debts.owed)
		node.debts.mu.Unlock()
	}
	return n
}

// OnNode returns how long a lease of ttl lasts on a node.
func OnNode(ttl time.Duration) time.Duration { return onNode(ttl) }

// Known is what a node knows about the tokens of a lock.
type Known struct {
	Now, First, Last uint64
	Ours             bool
}

// Next returns the tokens that follow the known ones.
func Next(known []Known, want uint64) (first, last uint64) {
	var ts []token
	for _, k := range known {
		ts = append(ts, token{now: k.Now, first: k.First, last: k.Last, ours: k.Ours})
	}
	return next(ts, want)
}
