package zklock

import (
	"context"
	"strconv"
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
)

// Blockers returns the names of the nodes that node i waits for. The names are in order.
func Blockers(names []string, i int) ([]string, error) {
	q, err := parseQueue(names)
	if err != nil {
		return nil, err
	}
	return nodeNames(placequeue.Blockers(q, i)), nil
}

// Queue returns the names of the nodes in the queue, in order, and of those that have the
// key.
func Queue(names []string) (order, holders []string, err error) {
	q, err := parseQueue(names)
	return nodeNames(q), nodeNames(placequeue.Holders(q)), err
}

func nodeNames(nodes []node) (names []string) {
	for _, n := range nodes {
		names = append(names, n.name)
	}
	return names
}

// Stranger returns the name of a child of a key's node that does not see the node own, and
// why an owner of that node does not get the key.
func Stranger(names []string, own string) (string, error) {
	q, err := parseQueue(names)
	if err != nil {
		return "", err
	}
	if other := findStranger(names, q, q[q.find(own)].kind); other != nil {
		return other.name, other.err
	}
	return "", nil
}

// WithLookup replaces the lookup of names.
func WithLookup(lookup func(ctx context.Context, host string) ([]string, error)) Option {
	return func(o *options) { o.lookup = lookup }
}

// GUID returns the UUID that represents an owner.
func GUID(owner string) string { return guidOf(owner) }

// Tokens returns n tokens of a transaction ID.
func Tokens(zxid int64, n int) (first, last uint64, err error) { return tokens(zxid, n) }

// MaxLease returns the longest lease of a session.
func MaxLease(timeout time.Duration) time.Duration {
	return (&session{timeout: timeout}).maxLease()
}

// Answer returns the result of a call that has its answer when ctx has ended.
func Answer(ctx context.Context, answer int) (int, error) {
	p := &pending[int]{done: make(chan struct{}), value: answer}
	close(p.done)
	return p.wait(ctx)
}

// Sniff returns what a sniffer learns from the server's bytes.
func Sniff(chunks ...[]byte) (id int64, timeout time.Duration, zxids map[string]int64) {
	s := &sniffer{createZxids: new(createZxids)}
	for _, c := range chunks {
		s.parse(c)
	}
	id, timeout = s.session()
	return id, timeout, s.createZxids.byPath
}

// KnowsNext reports whether a process knows that the node after the one that it has deleted
// is the first. watched is whether the server had confirmed the watch before that.
func KnowsNext(watched bool) bool {
	c := counters{byParent: make(map[string]*counter)}
	one := c.add("/a", minNumber)
	if watched {
		c.setWatched("/a", one, true)
	}
	if known := c.watched("/a"); known != nil {
		c.gone(known, minNumber)
	}
	return c.isNext("/a", minNumber+1)
}

// MaxCounters is the largest number of counters.
const MaxCounters = maxCounters

// CountersOf returns how many counters there are after the use of n keys.
func CountersOf(n int) int {
	c := counters{byParent: make(map[string]*counter)}
	for i := range n {
		c.add(strconv.Itoa(i), minNumber)
	}
	return len(c.byParent)
}
