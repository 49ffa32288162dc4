// Package doubt remembers which requests had no answer.
package doubt

import (
	"sync"
	"sync/atomic"
	"time"
)

// Owners has the owners of requests that had no answer. An attempt without an answer
// may still reach the server: the release of its owner tells the server to refuse it. A
// release without an answer may have given the key back: the next one does not report a
// loss.
//
// An entry lives until a release of its owner was answered. A caller that breaks the
// contract may never release: its entry is removed when it is old and the map has
// grown.
//
// The zero value is ready to use. It is safe for concurrent use.
type Owners struct {
	n      atomic.Int64 // owners; most of the time there is none
	mu     sync.Mutex
	owners map[string]owner
}

// TombstoneTTL is how long an owner in doubt is remembered, here and by the server.
// After that, no attempt is on its way.
const TombstoneTTL = 15 * time.Minute

// Requests says which requests of an owner had no answer.
type Requests int

// The bits of Requests.
const (
	Attempt Requests = 1 << iota
	Release
)

// owner is an owner with requests that had no answer.
type owner struct {
	what  Requests
	since time.Time
}

// manyInDoubt is the number of entries at which old ones are removed.
const manyInDoubt = 1024

// Add notes that a request of an owner had no answer.
func (o *Owners) Add(name string, what Requests) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.owners == nil {
		o.owners = make(map[string]owner)
	}
	defer func() { o.n.Store(int64(len(o.owners))) }()
	o.owners[name] = owner{o.owners[name].what | what, now}
	if n := len(o.owners); n >= manyInDoubt && n%manyInDoubt == 0 {
		for old, is := range o.owners {
			if now.Sub(is.since) > TombstoneTTL {
				delete(o.owners, old)
			}
		}
	}
}

// Of returns what is in doubt; 0 if nothing is.
func (o *Owners) Of(name string) Requests {
	if o.Len() == 0 {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.owners[name].what
}

// Remove forgets an owner: its release was answered.
func (o *Owners) Remove(name string) {
	if o.Len() == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.owners, name)
	o.n.Store(int64(len(o.owners)))
}

// Len returns the number of owners.
func (o *Owners) Len() int { return int(o.n.Load()) }
