package redlock

import (
	"sync"
)

const (
	anyGeneration = -1 // releases whatever the owner has
	everyDoubt    = -1 // resolves all operations in doubt
)

// owners knows the operations in flight for each owner. On each node a release waits
// for the operations that may acquire. An owner is forgotten when no operation is in
// flight or in doubt.
type owners struct {
	mu         sync.Mutex
	nodes      int
	known      map[string]*ownerState
	generation int // the number of the last attempt or restoration
}

// ownerState is what is known of one owner. The mutex of owners guards it.
type ownerState struct {
	owner    string
	refs     int
	released bool
	nodes    []nodeState // by node; nil if nothing was sent
}

// nodeState is what is known of an owner on one node.
type nodeState struct {
	pending int      // operations in flight that may acquire the lock
	inDoubt int      // operations without a reply, which may still take effect
	waiting []func() // called when nothing is pending
}

func newOwners(nodes int) *owners {
	return &owners{nodes: nodes, known: make(map[string]*ownerState)}
}

// ref returns the state of an owner and keeps it until unref.
func (os *owners) ref(owner string) *ownerState {
	os.mu.Lock()
	defer os.mu.Unlock()
	return os.get(owner, 1)
}

func (os *owners) get(owner string, refs int) *ownerState {
	o := os.known[owner]
	if o == nil {
		o = &ownerState{owner: owner}
		os.known[owner] = o
	}
	o.refs += refs
	return o
}

func (os *owners) unref(o *ownerState) {
	os.mu.Lock()
	defer os.mu.Unlock()
	os.put(o)
}

func (os *owners) put(o *ownerState) {
	o.refs--
	if o.refs > 0 {
		return
	}
	for i := range o.nodes {
		if o.nodes[i].inDoubt > 0 {
			return
		}
	}
	delete(os.known, o.owner)
}

// begin begins an attempt on all nodes, each of which must be ended, and keeps the
// state until unref. It returns false if the owner has released.
//
// Each attempt has a generation of its own. The release of a failed attempt may arrive
// late. It does not touch what a later generation has acquired.
func (os *owners) begin(owner string) (o *ownerState, generation int, ok bool) {
	os.mu.Lock()
	defer os.mu.Unlock()
	if o := os.known[owner]; o != nil && o.released {
		return nil, 0, false
	}
	o = os.get(owner, os.nodes+1)
	for i := range os.nodes {
		os.node(o, i).pending++
	}
	os.generation++
	return o, os.generation, true
}

// beginOn begins an operation that may acquire on one node. It returns false if the
// owner has released.
func (os *owners) beginOn(o *ownerState, i int) (generation int, ok bool) {
	os.mu.Lock()
	defer os.mu.Unlock()
	if o.released {
		return 0, false
	}
	o.refs++
	os.node(o, i).pending++
	os.generation++
	return os.generation, true
}

func (os *owners) node(o *ownerState, i int) *nodeState {
	if o.nodes == nil {
		o.nodes = make([]nodeState, os.nodes)
	}
	return &o.nodes[i]
}

// end ends an operation on a node, and calls what waits for it. With known it is
// certain that the operation takes no more effect.
func (os *owners) end(o *ownerState, i int, known bool) {
	var waiting []func()
	os.mu.Lock()
	n := &o.nodes[i]
	n.pending--
	if !known {
		n.inDoubt++
	}
	if n.pending == 0 {
		waiting, n.waiting = n.waiting, nil
	}
	os.put(o)
	os.mu.Unlock()
	for _, f := range waiting {
		f()
	}
}

// whenIdle calls f when nothing is pending on the node, which may be at once. It keeps
// the state, and f must call unref.
func (os *owners) whenIdle(o *ownerState, i int, f func()) {
	os.mu.Lock()
	o.refs++
	if n := os.node(o, i); n.pending > 0 {
		n.waiting = append(n.waiting, f)
		f = nil
	}
	os.mu.Unlock()
	if f != nil {
		f()
	}
}

// markReleased makes the owner one that has released. The caller must call unref.
func (os *owners) markReleased(owner string) *ownerState {
	os.mu.Lock()
	defer os.mu.Unlock()
	o := os.get(owner, 1)
	o.released = true
	return o
}

// isInDoubt reports whether an operation may still take effect on the node.
func (os *owners) isInDoubt(o *ownerState, i int) bool {
	os.mu.Lock()
	defer os.mu.Unlock()
	return os.node(o, i).inDoubt > 0
}

// resolve resolves so many operations in doubt, or everyDoubt, after the node has a
// tombstone for them. It is also an unref.
func (os *owners) resolve(o *ownerState, i, inDoubt int) {
	os.mu.Lock()
	defer os.mu.Unlock()
	n := os.node(o, i)
	if inDoubt == everyDoubt {
		inDoubt = n.inDoubt
	}
	n.inDoubt = max(n.inDoubt-inDoubt, 0)
	os.put(o)
}
