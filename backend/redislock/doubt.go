package redislock

import (
	"sync"
	"time"
)

// doubts remembers the owners of which an attempt may still be on its way:
// whoever left an attempt without having heard its answer. The release of such
// an owner tells the server to refuse the attempt when it comes.
//
// An entry lives until a release of its owner was answered. Callers that never
// release, against the contract, are forgotten when the map has grown and the
// entry is old.
type doubts struct {
	mu     sync.Mutex
	owners map[string]time.Time
}

const (
	manyDoubts = 1024
	oldDoubt   = retention // after which no attempt is on its way
)

func (d *doubts) add(owner string) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owners == nil {
		d.owners = make(map[string]time.Time)
	}
	d.owners[owner] = now
	if n := len(d.owners); n >= manyDoubts && n%manyDoubts == 0 {
		for o, since := range d.owners {
			if now.Sub(since) > oldDoubt {
				delete(d.owners, o)
			}
		}
	}
}

func (d *doubts) has(owner string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.owners[owner]
	return ok
}

func (d *doubts) remove(owner string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.owners, owner)
}
