package zklock

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/driver"
)

// recipe is a recipe of Curator or kazoo that creates nodes below the path of a lock.
// It sees the nodes with its tags, whichever program has created them, and ignores all
// others.
type recipe struct {
	names string
	tags  []string
}

var recipes = []recipe{
	{"InterProcessMutex or LeaderSelector of Curator", []string{tagLock}},
	{"InterProcessReadWriteLock of Curator", []string{tagRead, tagWrite}},
	{"Lock, WriteLock or ReadLock of kazoo", []string{tagKazoo, tagKazooR}},
}

const (
	// leasesNode is the node in which the semaphore of Curator creates its nodes. It
	// ignores all nodes beside it.
	leasesNode      = "leases"
	semaphoreRecipe = "InterProcessSemaphoreV2"
)

// stranger is a child of a key's node beside which an owner has no node: it waits until
// the stranger is gone. Most strangers do not see nodes of the owner's kind, and take
// the lock while such a node has it. A node in front that has a plain name does see it.
// But a program with such names may compare all names as texts and wait for a node
// behind its own, while the owner of that node waits for the program.
type stranger struct {
	name string
	what string // for Inspect
	err  error  // why the owner does not get the key
}

// stranger returns a child of a key's node beside which a node of kind k must not be:
// one that does not see it, or an ephemeral node of another program, which is a lock
// with a rule that is not known. The children have the names, of which q is the queue.
func (b *backend) stranger(ctx context.Context, parent string, names []string, q queue, k kind) (*stranger, error) {
	if s := findStranger(names, q, k); s != nil || len(q) == len(names) { // all are in the queue
		return s, nil
	}
	var others []string
	var stats []*pending[zk.Stat]
	for _, name := range names {
		if _, ok := parseNode(name); !ok {
			others, stats = append(others, name), append(stats, b.link.stat(parent+"/"+name))
		}
	}
	for i, name := range others {
		stat, err := stats[i].wait(ctx)
		switch {
		case err != nil:
			return nil, err
		case isEphemeral(&stat):
			return newStranger(name, ephemeralNode, "the %s %q of another program, which may not see other locks", ephemeralNode, name), nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// findStranger returns a stranger that is known by its name, for nodes of kind k.
func findStranger(names []string, q queue, k kind) *stranger {
	for _, n := range q {
		if n.ours {
			continue
		}
		i := slices.IndexFunc(recipes, func(r recipe) bool { return slices.Contains(r.tags, n.kind.tag) })
		if i >= 0 && !slices.Contains(recipes[i].tags, k.tag) {
			r := recipes[i]
			return newStranger(n.name, r.names, "%s, which sees %s and not %s", r.names, strings.Join(r.tags, " and "), k.tag)
		}
	}
	if slices.Contains(names, leasesNode) {
		return newStranger(leasesNode, semaphoreRecipe, "%s or InterProcessSemaphoreMutex of Curator, which see no other locks", semaphoreRecipe)
	}
	return nil
}

func newStranger(name, what, format string, args ...any) *stranger {
	return &stranger{name, what, fmt.Errorf("zklock: %w: "+format, append([]any{driver.ErrForeign}, args...)...)}
}

// isEphemeral reports whether a node ends with a session. The server has the kinds of
// other nodes in the same field: containers, and nodes with a TTL, whose first byte is
// 0xff.
func isEphemeral(stat *zk.Stat) bool {
	owner := stat.EphemeralOwner
	return owner != 0 && owner != math.MinInt64 && uint64(owner)>>56 != 0xff
}
