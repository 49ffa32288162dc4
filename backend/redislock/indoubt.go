package redislock

import (
	"sync"
	"time"
)

// inDoubt remembers the owners with requests that had no answer. An attempt without an
// answer may still reach the server, so the release of such an owner tells the server to
// refuse the attempt. A release without an answer may have given the key back, so the next
// one does not report a loss.
//
// An entry lives until a release of its owner was answered. An entry of a caller that
// breaks the contract and never releases is removed when it is old and the map has grown.
type inDoubt struct {
	mu     sync.Mutex
	owners map[string]doubt
}

// doubt says which requests of an owner had no answer.
type doubt struct {
	what  doubts
	since time.Time
}

type doubts int

const (
	attemptInDoubt doubts = 1 << iota
	releaseInDoubt
)

const (
	manyInDoubt = 1024
	inDoubtFor  = tombstoneTTL
)

func (d *inDoubt) add(owner string, what doubts) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owners == nil {
		d.owners = make(map[string]doubt)
	}
	d.owners[owner] = doubt{d.owners[owner].what | what, now}
	if n := len(d.owners); n >= manyInDoubt && n%manyInDoubt == 0 {
		for o, old := range d.owners {
			if now.Sub(old.since) > inDoubtFor {
				delete(d.owners, o)
			}
		}
	}
}

// of returns what is in doubt; 0 if nothing is.
func (d *inDoubt) of(owner string) doubts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owners[owner].what
}

func (d *inDoubt) remove(owner string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.owners, owner)
}
