package zklock

import "sync"

// counters knows the counters of some keys' nodes. It tells that a new node is the first
// in its queue, so that the queue need not be read.
//
// The server numbers the nodes of a queue. When the first node has been deleted, all nodes
// up to its number are gone. So the node with the next number is the first.
//
// If the key's node is deleted and created again, its counter starts again. A watch tells
// of that: the event comes before the reply to a request that the server has executed
// later. When a connection ends, its watches end, and everything is forgotten.
type counters struct {
	mu       sync.Mutex
	byParent map[string]*counter
}

// counter is the counter of a key's node.
type counter struct {
	watched bool  // the server has set the watch
	next    int64 // the nodes with smaller numbers are gone; 0 if it is not known
}

const (
	// maxCounters bounds the watches. If all are used, the queues of other keys are read.
	maxCounters = 10_000

	// minNumber is the smallest number of a node for which its key is worth a watch. For a
	// key that is used once or twice, one more request would cost more than it saves.
	minNumber = 2
)

// isNext reports whether a new node with this number is the first in its queue.
func (c *counters) isNext(parent string, number int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.byParent[parent]
	return one != nil && one.next != 0 && one.next == number
}

// add adds the counter of a key's node, in which there is a node with this number. The
// caller then sets a watch on the key's node. If it shall not, add returns nil.
func (c *counters) add(parent string, number int64) *counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byParent[parent] != nil || number < minNumber || len(c.byParent) == maxCounters {
		return nil
	}
	one := new(counter)
	c.byParent[parent] = one
	return one
}

// setWatched records the reply to the request for the watch.
func (c *counters) setWatched(parent string, one *counter, watched bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.watched = watched
	if !watched && c.byParent[parent] == one {
		delete(c.byParent, parent)
	}
}

// watched returns the counter of a key's node, or nil if there is no watch on that node.
func (c *counters) watched(parent string) *counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.byParent[parent]; one != nil && one.watched {
		return one
	}
	return nil
}

// gone records that the first node in a queue, with this number, was deleted. Before that
// was requested, watched has returned the counter one.
func (c *counters) gone(one *counter, number int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.next = max(one.next, number+1)
}

// wantsWatch reports whether a request for the metadata of a node shall also set a watch.
func (c *counters) wantsWatch(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byParent[path] != nil
}

// forget records that the watch on a node has ended with an event.
func (c *counters) forget(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byParent, path)
}

// forgetAll records that all watches have ended with their connection.
func (c *counters) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byParent)
}
