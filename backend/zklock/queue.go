package zklock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxNodes is the largest number that the server's counter of a key's node can reach.
const maxNodes = 1<<31 - 1

// errOverflow: the counter has 31 bits and continues below zero. After that the names do
// not tell the order.
var errOverflow = errors.New("zklock: the sequence numbers of the key's node are used up; delete it while the key is not used")

// queue is the nodes of a key in the order of their numbers.
type queue []node

// parseQueue returns the queue among the children of a key's node.
func parseQueue(names []string) (queue, error) {
	q := make(queue, 0, len(names))
	for _, name := range names {
		n, ok := parseNode(name)
		if !ok {
			continue
		}
		if n.seq < 0 || n.seq >= maxNodes {
			return nil, fmt.Errorf("%w: %q", errOverflow, name)
		}
		q = append(q, n)
	}
	slices.SortFunc(q, func(a, b node) int { return cmp.Or(cmp.Compare(a.seq, b.seq), strings.Compare(a.name, b.name)) })
	return q, nil
}

func (q queue) find(name string) int {
	return slices.IndexFunc(q, func(n node) bool { return n.name == name })
}

// blockers returns the nodes that node i waits for: while all of them are there, it
// cannot have the key. If there are none, it has the key. [driver.Sharing.Admits] is the
// rule, applied to the nodes in front of node i as if all of them had the key.
//
// Usually there is one blocker, the nearest node in front that does not share the key
// with node i. A request for one of n permits waits for the n nodes in front of it if all
// of those ask for permits; each that goes may be enough.
func (q queue) blockers(i int) []node {
	s := q[i].kind.sharing
	for n := 1; n <= i; n++ {
		front := q[i-n].kind.sharing
		switch {
		case !front.Admits(1, s):
			return q[i-n : i-n+1]
		case !front.Admits(n, s):
			return q[i-n : i]
		}
	}
	return nil
}

// holders returns the nodes that have the key.
func (q queue) holders() []node {
	var held []node
	for i, n := range q {
		if len(q.blockers(i)) == 0 {
			held = append(held, n)
		}
	}
	return held
}
