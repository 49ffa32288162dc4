package sqllock

import "sync"

// doubts remembers the owners with a release that had no answer. It may have given the key
// back, so the next one does not report a loss.
//
// An entry lives until a release of its owner was answered.
type doubts struct {
	mu     sync.Mutex
	owners map[string]struct{}
}

// mostDoubts bounds the memory for callers that never release again.
const mostDoubts = 1 << 16

func newDoubts() *doubts { return &doubts{owners: make(map[string]struct{})} }

func (d *doubts) add(owner string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.owners) >= mostDoubts {
		return
	}
	d.owners[owner] = struct{}{}
}

// remove reports whether the owner was in doubt.
func (d *doubts) remove(owner string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.owners[owner]
	delete(d.owners, owner)
	return ok
}
