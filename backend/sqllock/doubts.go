package sqllock

import "sync"

// doubts remembers the owners with requests that had no answer. An attempt may still
// arrive at the database, so the release of its owner leaves a tombstone. A release may
// have given the key back, so the next one does not report a loss.
//
// An entry lives until a release of its owner was answered.
type doubts struct {
	mu     sync.Mutex
	owners map[string]doubt
}

// doubt says which requests of an owner had no answer.
type doubt int

const (
	attemptInDoubt doubt = 1 << iota
	releaseInDoubt
)

// mostDoubts bounds the memory for callers that never release again.
const mostDoubts = 1 << 16

func newDoubts() *doubts { return &doubts{owners: make(map[string]doubt)} }

func (d *doubts) add(owner string, what doubt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.owners) >= mostDoubts {
		return
	}
	d.owners[owner] |= what
}

func (d *doubts) has(owner string, what doubt) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owners[owner]&what != 0
}

// remove reports whether such a request of the owner was in doubt.
func (d *doubts) remove(owner string, what doubt) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.owners[owner]
	if d.owners[owner] = was &^ what; was&^what == 0 {
		delete(d.owners, owner)
	}
	return was&what != 0
}
