package redlock

import (
	"context"
	"sync"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/wake"
)

var _ driver.Waker = (*backend)(nil)

// channelOf returns the channel in which a node tells that a key was released.
func channelOf(key string) string { return "distlock:redlock:free:" + key }

// Turn implements [driver.Waker]. The channel receives a value when the messages of a
// quorum of the nodes can arrive, and when a quorum has told that the key was released.
// Without messages from a quorum there are no values.
func (b *backend) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	w := &watch{quorum: b.quorum, up: make(chan driver.Grant, 1), live: votes{told: make([]bool, len(b.nodes))}}
	ends := make([]func(), len(b.nodes))
	for i, n := range b.nodes {
		ends[i] = n.listener.Subscribe(channelOf(r.Key), func(owner string) { w.released(i, owner) }, func() { w.begun(i) })
	}
	context.AfterFunc(ctx, func() {
		for _, end := range ends {
			end()
		}
	})
	return w.up
}

// watch is one watch of a key.
type watch struct {
	quorum int
	up     chan driver.Grant

	mu       sync.Mutex
	live     votes              // the nodes whose messages arrive
	releases [maxReleases]votes // the last ones
	next     int                // the release that the next new one replaces
}

// maxReleases is how many releases a watch counts at a time. The messages about one
// arrive within moments, so there are many only if messages are lost.
const maxReleases = 4

// votes are nodes, such as the nodes that have told of the release by an owner.
type votes struct {
	owner string
	told  []bool // by node
	nodes int
}

// add adds a node, and reports whether it was there already.
func (v *votes) add(node int) (again bool) {
	if again = v.told[node]; !again {
		v.told[node] = true
		v.nodes++
	}
	return again
}

// begun notes that the messages of a node arrive from now on.
func (w *watch) begun(node int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := w.live.add(node) // messages may have been missed
	n := w.live.nodes
	if n == w.quorum || n > w.quorum && again {
		wake.Signal(w.up)
	}
}

// released counts the message of a node, once if the release was sent twice.
func (w *watch) released(node int, owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.votesFor(owner)
	if !r.add(node) && r.nodes == w.quorum { // not again for the messages of slower nodes
		wake.Signal(w.up)
	}
}

func (w *watch) votesFor(owner string) *votes {
	for i := range w.releases {
		if w.releases[i].owner == owner {
			return &w.releases[i]
		}
	}
	r := &w.releases[w.next]
	w.next = (w.next + 1) % maxReleases
	*r = votes{owner: owner, told: make([]bool, len(w.live.told))}
	return r
}
