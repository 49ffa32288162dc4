package redlock

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var _ driver.Waker = (*Backend)(nil)

// channelOf returns the channel in which a node tells that a key was released.
func channelOf(key string) string { return "distlock:redlock:free:" + key }

// Wake implements [driver.Waker]. The channel receives a value when the messages of a quorum
// of the nodes can arrive, when a quorum has told that the key was released, and a little
// after an attempt of this Backend that has failed because several owners have shared the
// nodes. Without messages from a quorum there are no values.
func (b *Backend) Wake(ctx context.Context, key string) <-chan struct{} {
	w := &watch{quorum: b.quorum, up: make(chan struct{}, 1), live: make([]bool, len(b.nodes))}
	b.watches.add(key, w)
	ends := make([]func(), len(b.nodes))
	for i, n := range b.nodes {
		ends[i] = n.listener.Subscribe(channelOf(key), func(owner string) { w.released(i, owner) }, func() { w.begun(i) })
	}
	context.AfterFunc(ctx, func() {
		b.watches.remove(key, w)
		for _, end := range ends {
			end()
		}
	})
	return w.up
}

// watches are those of a Backend.
type watches struct {
	mu    sync.Mutex
	byKey map[string][]*watch
}

func (ws *watches) add(key string, w *watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.byKey == nil {
		ws.byKey = make(map[string][]*watch)
	}
	ws.byKey[key] = append(ws.byKey[key], w)
}

func (ws *watches) remove(key string, w *watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	rest := slices.DeleteFunc(ws.byKey[key], func(o *watch) bool { return o == w })
	if ws.byKey[key] = rest; len(rest) == 0 {
		delete(ws.byKey, key)
	}
}

// split tells the watches of a key that an attempt, which took so long, has failed although
// perhaps no owner has the key.
func (ws *watches) split(key string, took time.Duration) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.byKey[key] {
		w.split(took)
	}
}

// watch is one watch of a key.
type watch struct {
	quorum int
	up     chan struct{}

	mu       sync.Mutex
	live     []bool             // by node: whether its messages arrive
	releases [maxReleases]votes // the last ones
	next     int                // the release that the next new one replaces
	splits   int                // since the last release by a quorum
}

const (
	// maxReleases is how many releases a watch counts at a time. The messages about one
	// arrive within moments, so there are many only if messages are lost.
	maxReleases = 4

	// maxSplits is how often in a row a watch brings an attempt forward after the nodes
	// were shared. They stay so if a process has died during an attempt.
	maxSplits = 6
)

// votes are the nodes that have told of the release by an owner.
type votes struct {
	owner string
	told  []bool // by node
	nodes int
}

// begun notes that the messages of a node arrive from now on.
func (w *watch) begun(node int) {
	w.mu.Lock()
	again := w.live[node] // messages may have been missed
	w.live[node] = true
	n := 0
	for _, live := range w.live {
		if live {
			n++
		}
	}
	w.mu.Unlock()
	if n == w.quorum || n > w.quorum && again {
		w.signal()
	}
}

// released counts the message of a node, once if the release was sent twice.
func (w *watch) released(node int, owner string) {
	w.mu.Lock()
	r := w.votesFor(owner)
	if r.told[node] {
		w.mu.Unlock()
		return
	}
	r.told[node] = true
	r.nodes++
	reached := r.nodes == w.quorum // not again for the messages of slower nodes
	if reached {
		w.splits = 0
	}
	w.mu.Unlock()
	if reached {
		w.signal()
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
	*r = votes{owner: owner, told: make([]bool, len(w.live))}
	return r
}

// split brings the next attempt forward, after a random pause: otherwise those that have
// failed together fail together again. The pause is longer each time.
func (w *watch) split(took time.Duration) {
	w.mu.Lock()
	n := w.splits
	w.splits++
	w.mu.Unlock()
	if n < maxSplits {
		time.AfterFunc(rand.N(max(took, time.Millisecond)<<min(n+1, 4)), w.signal)
	}
}

// signal does not block: a value that is there already says the same.
func (w *watch) signal() {
	select {
	case w.up <- struct{}{}:
	default:
	}
}
