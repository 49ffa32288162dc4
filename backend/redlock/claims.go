package redlock

import (
	"sync"
	"time"
)

// everything, for a generation: whatever the owner has.
const everything = -1

// claims knows what is under way for each owner, so that on every node what is
// taken back comes after what takes. An owner of whom nothing is under way, and
// nothing doubtful, is forgotten.
type claims struct {
	mu     sync.Mutex
	nodes  int
	owners map[string]*claim
}

// claim is what is under way for one owner. The mutex of claims guards it.
type claim struct {
	owner    string
	refs     int
	buried   int // those refs that remember what is buried
	released bool

	// An attempt that fails is taken back, and what takes it back may be late.
	// The next attempt of the owner writes another generation, which that leaves
	// alone.
	generation int

	places []place // by node; nil if nothing was sent
}

// place is a claim on one node.
type place struct {
	pending int      // operations that may take the key
	doubts  int      // those whose fate is unknown: they may still be applied
	waiting []func() // what comes after them
}

func newClaims(nodes int) *claims {
	return &claims{nodes: nodes, owners: make(map[string]*claim)}
}

// hold keeps the claim of an owner until drop.
func (cs *claims) hold(owner string) *claim {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.get(owner, 1)
}

func (cs *claims) get(owner string, refs int) *claim {
	c := cs.owners[owner]
	if c == nil {
		c = &claim{owner: owner}
		cs.owners[owner] = c
	}
	c.refs += refs
	return c
}

func (cs *claims) drop(c *claim) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.put(c)
}

func (cs *claims) put(c *claim) {
	c.refs--
	if c.refs > 0 {
		return
	}
	for i := range c.places {
		if c.places[i].doubts > 0 {
			return
		}
	}
	delete(cs.owners, c.owner)
}

// start begins an attempt on all nodes, each of which must be ended, and holds
// the claim. It returns false if the owner has released.
func (cs *claims) start(owner string) (c *claim, generation int, ok bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.owners[owner]; c != nil && c.released {
		return nil, 0, false
	}
	c = cs.get(owner, cs.nodes+1)
	for i := range cs.nodes {
		cs.place(c, i).pending++
	}
	return c, c.generation, true
}

// startOn begins what may take the key on one node. It returns false if the
// owner has released.
func (cs *claims) startOn(c *claim, i int) (generation int, ok bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.released {
		return 0, false
	}
	c.refs++
	cs.place(c, i).pending++
	return c.generation, true
}

func (cs *claims) place(c *claim, i int) *place {
	if c.places == nil {
		c.places = make([]place, cs.nodes)
	}
	return &c.places[i]
}

// end ends what was begun on a node, and starts what waits for that.
func (cs *claims) end(c *claim, i int, sure bool) {
	var waiting []func()
	cs.mu.Lock()
	p := &c.places[i]
	p.pending--
	if !sure {
		p.doubts++
	}
	if p.pending == 0 {
		waiting, p.waiting = p.waiting, nil
	}
	cs.put(c)
	cs.mu.Unlock()
	for _, f := range waiting {
		f()
	}
}

// failed begins a new generation, if it is still the one that failed.
func (cs *claims) failed(c *claim, generation int) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.generation == generation {
		c.generation++
	}
}

// release marks the owner as gone. The claim must be dropped.
func (cs *claims) release(owner string) *claim {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.get(owner, 1)
	c.released = true
	c.refs -= c.buried // it makes no attempt any more
	c.buried = 0
	return c
}

// bury holds the claim for d, unless the owner has released: a node refuses for so
// long a generation that was taken back, and the next one must not be called the same.
func (cs *claims) bury(c *claim, d time.Duration) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.released {
		return
	}
	c.refs++
	c.buried++
	time.AfterFunc(d, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if c.buried > 0 { // else it was released meanwhile
			c.buried--
			cs.put(c)
		}
	})
}

// after calls f when nothing is pending on the node, with a claim that f must
// drop. That may be at once.
func (cs *claims) after(c *claim, i int, f func()) {
	cs.mu.Lock()
	c.refs++
	if p := cs.place(c, i); p.pending > 0 {
		p.waiting = append(p.waiting, f)
		f = nil
	}
	cs.mu.Unlock()
	if f != nil {
		f()
	}
}

// doubtful reports whether something may still be applied on the node.
func (cs *claims) doubtful(c *claim, i int) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.place(c, i).doubts > 0
}

// settle removes so many doubts, or everything, after the node was told to refuse
// what comes late, and drops the claim.
func (cs *claims) settle(c *claim, i, doubts int) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	p := cs.place(c, i)
	if doubts == everything {
		doubts = p.doubts
	}
	p.doubts = max(p.doubts-doubts, 0)
	cs.put(c)
}

// linger holds the claim for d: a release of one generation may arrive for so
// long, and the next one must not be called the same.
func (cs *claims) linger(c *claim, d time.Duration) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.refs++
	time.AfterFunc(d, func() { cs.drop(c) })
}

// size is how many owners are known.
func (cs *claims) size() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.owners)
}
