package zklock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distlock-go/distlock/driver"
)

// recipe is a recipe of Curator or kazoo that creates nodes below the path of a lock. It sees
// the nodes with its tags, whichever program has created them, and ignores all others.
type recipe struct {
	names string
	tags  []string
}

var recipes = []recipe{
	{"InterProcessMutex or LeaderSelector of Curator", []string{tagLock}},
	{"InterProcessReadWriteLock of Curator", []string{tagRead, tagWrite}},
	{"LeaderLatch of Curator", []string{tagLatch}},
	{"Lock, WriteLock or ReadLock of kazoo", []string{tagKazoo, tagKazooR}},
}

// leasesNode is the node in which the semaphore of Curator creates its nodes. It ignores all
// nodes beside it.
const (
	leasesNode      = "leases"
	semaphoreRecipe = "InterProcessSemaphoreV2"
)

// stranger is a child of a key's node beside which an owner has no node: it waits until the
// stranger is gone. Most strangers do not see nodes of the owner's kind, and take the lock
// while such a node has it. A node in front that has a plain name does see it. But a program
// with such names may compare all names as texts and wait for a node behind its own, while
// the owner of that node waits for the program.
type stranger struct {
	name string
	err  error // why the owner does not get the key
}

// findStranger returns a stranger among the children of a key's node, which also are in
// the queue q, for nodes of kind k. It returns nil if there is none.
func findStranger(names []string, q queue, k kind) *stranger {
	for _, n := range q {
		if n.ours {
			continue
		}
		i := slices.IndexFunc(recipes, func(r recipe) bool { return slices.Contains(r.tags, n.kind.tag) })
		if i >= 0 && !slices.Contains(recipes[i].tags, k.tag) {
			r := recipes[i]
			return newStranger(n.name, "%s, which sees %s and not %s", r.names, strings.Join(r.tags, " and "), k.tag)
		}
	}
	if slices.Contains(names, leasesNode) {
		return newStranger(leasesNode, "%s or InterProcessSemaphoreMutex of Curator, which see no other locks", semaphoreRecipe)
	}
	return nil
}

func newStranger(name, format string, args ...any) *stranger {
	return &stranger{name, fmt.Errorf("zklock: %w: "+format, append([]any{driver.ErrForeign}, args...)...)}
}
