package redistest

import (
	"strings"
	"testing"
)

// Slot returns the slot of a key.
func (c *Cluster) Slot(tb testing.TB, key string) int {
	tb.Helper()
	slot, err := c.Masters[0].admin().ClusterKeySlot(tb.Context(), key).Result()
	must(tb, err)
	return int(slot)
}

// MoveSlot moves a slot to another master while clients use it, in the same order as
// redis-cli. It calls halfway after half of the keys have moved, and again after all
// keys have moved but before the slot has. Meanwhile the source redirects clients to
// the target (ASK), and refuses a command with several keys if only some of them have
// moved (TRYAGAIN).
func (c *Cluster) MoveSlot(tb testing.TB, slot int, from, to *Server, halfway func()) {
	tb.Helper()
	set := func(at *Server, state string, node *Server) {
		tb.Helper()
		must(tb, at.admin().Do(tb.Context(), "cluster", "setslot", slot, state, node.nodeID(tb)).Err())
	}
	set(to, "importing", from)
	set(from, "migrating", to)
	moveKeys(tb, slot, from, to, 2)
	halfway()
	moveKeys(tb, slot, from, to, 1)
	halfway()
	moveKeys(tb, slot, from, to, 1)
	set(to, "node", to)
	set(from, "node", to)
	for _, m := range c.Masters {
		if m != from && m != to {
			set(m, "node", to)
		}
	}
}

// moveKeys moves one of every oneOf keys of the slot. If oneOf is 1, it repeats that
// until the slot has no keys.
func moveKeys(tb testing.TB, slot int, from, to *Server, oneOf int) {
	tb.Helper()
	host, port, _ := strings.Cut(to.Addr(), ":")
	for {
		keys, err := from.admin().ClusterGetKeysInSlot(tb.Context(), slot, 100).Result()
		must(tb, err)
		for i, key := range keys {
			if i%oneOf == 0 {
				// The answer is NOKEY, and not an error, if the key is gone meanwhile.
				must(tb, from.admin().Do(tb.Context(), "migrate", host, port, key, 0, 5000).Err())
			}
		}
		if oneOf > 1 || len(keys) == 0 {
			return
		}
	}
}
