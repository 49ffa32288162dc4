package zklock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distlock-go/distlock/driver"
)

// recipe is one of Curator's recipes that creates nodes below the path of a lock. It sees
// the nodes with its tags, whichever program has created them, and ignores all others.
type recipe struct {
	names string
	tags  []string
}

var recipes = []recipe{
	{"InterProcessMutex or LeaderSelector", []string{tagLock}},
	{"InterProcessReadWriteLock", []string{tagRead, tagWrite}},
	{"LeaderLatch", []string{tagLatch}},
}

// leasesNode is the node in which the semaphore of Curator creates its nodes. It ignores all
// nodes beside it.
const (
	leasesNode      = "leases"
	semaphoreRecipe = "InterProcessSemaphoreV2"
)

// stranger is a child of a key's node that a recipe of Curator has created which does not
// see the nodes of a certain kind. It takes the lock although such a node has it.
type stranger struct {
	name string
	err  error
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
			return newStranger(n.name, "%s of Curator, which sees %s and not %s", r.names, strings.Join(r.tags, " and "), k.tag)
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
