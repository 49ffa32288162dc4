package zklock

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
)

// Backend is the type of the Backends that New returns.
type Backend = backend

// Queue returns the names of the nodes in the queue, in order, and the names of the
// holders.
func Queue(names []string) (order, holders []string, err error) {
	q, err := parseQueue(names)
	held, _ := placequeue.Split(q)
	return nodeNames(q), nodeNames(held), err
}

func nodeNames(nodes []node) (names []string) {
	for _, n := range nodes {
		names = append(names, n.name)
	}
	return names
}

// Stranger returns the name of a child of a key's node that does not see the node own,
// and why an owner of that node does not get the key.
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

// WithLookup returns a Config that replaces the lookup of names.
func (c Config) WithLookup(lookup func(ctx context.Context, host string) ([]string, error)) Config {
	c.lookup = lookup
	return c
}

// IsEphemeral reports whether a node with this owner ends with a session.
func IsEphemeral(owner int64) bool { return isEphemeral(&zk.Stat{EphemeralOwner: owner}) }

// HolderName returns the name in the data of a node.
func HolderName(data []byte) string { return holderName(data) }
