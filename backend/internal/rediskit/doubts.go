package rediskit

import (
	"sync"
	"time"
)

// Doubts remember the owners with requests that had no answer. An attempt without an
// answer may still reach the server, so the release of such an owner tells the server to
// refuse the attempt. A release without an answer may have given the key back, so the next
// one does not report a loss.
//
// An entry lives until a release of its owner was answered. An entry of a caller that
// breaks the contract and never releases is removed when it is old and the map has grown.
//
// The zero value is ready to use. It is safe for concurrent use.
type Doubts struct {
	mu     sync.Mutex
	owners map[string]ownerInDoubt
}

// TombstoneTTL is how long an owner in doubt is remembered, here and by the server. After
// that, no attempt is on its way.
const TombstoneTTL = 15 * time.Minute

// Doubt says which requests of an owner had no answer.
type Doubt int

// The bits of a Doubt.
const (
	AttemptInDoubt Doubt = 1 << iota
	ReleaseInDoubt
)

// ownerInDoubt is an owner with requests that had no answer.
type ownerInDoubt struct {
	what  Doubt
	since time.Time
}

// manyInDoubt is the number of entries at which old ones are removed.
const manyInDoubt = 1024

// Add notes that a request of the owner had no answer.
func (d *Doubts) Add(owner string, what Doubt) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owners == nil {
		d.owners = make(map[string]ownerInDoubt)
	}
	d.owners[owner] = ownerInDoubt{d.owners[owner].what | what, now}
	if n := len(d.owners); n >= manyInDoubt && n%manyInDoubt == 0 {
		for o, old := range d.owners {
			if now.Sub(old.since) > TombstoneTTL {
				delete(d.owners, o)
			}
		}
	}
}

// Of returns what is in doubt; 0 if nothing is.
func (d *Doubts) Of(owner string) Doubt {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owners[owner].what
}

// Remove forgets the owner: its release was answered.
func (d *Doubts) Remove(owner string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.owners, owner)
}

// Len returns the number of owners.
func (d *Doubts) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.owners)
}
