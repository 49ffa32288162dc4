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

// errOverflow: the counter has 31 bits and continues below zero. After that the names
// do not tell the order.
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
