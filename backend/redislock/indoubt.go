package redislock

import (
	"sync"
	"time"
)

// inDoubt remembers the owners with an attempt that may still be on its way to the server,
// because its answer was not received. The release of such an owner tells the server to
// refuse the attempt when it arrives.
//
// An entry lives until a release of its owner was answered. An entry of a caller that
// breaks the contract and never releases is removed when it is old and the map has grown.
type inDoubt struct {
	mu     sync.Mutex
	owners map[string]time.Time
}

const (
	manyInDoubt = 1024
	inDoubtFor  = retention // after that, no attempt is on its way
)

func (d *inDoubt) add(owner string) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owners == nil {
		d.owners = make(map[string]time.Time)
	}
	d.owners[owner] = now
	if n := len(d.owners); n >= manyInDoubt && n%manyInDoubt == 0 {
		for o, since := range d.owners {
			if now.Sub(since) > inDoubtFor {
				delete(d.owners, o)
			}
		}
	}
}

func (d *inDoubt) has(owner string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.owners[owner]
	return ok
}

func (d *inDoubt) remove(owner string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.owners, owner)
}
