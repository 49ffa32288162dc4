package redistest

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Slot returns the slot of a key.
func (c *Cluster) Slot(tb testing.TB, key string) int {
	tb.Helper()
	slot, err := c.Masters[0].Client(tb).ClusterKeySlot(tb.Context(), key).Result()
	if err != nil {
		tb.Fatal(err)
	}
	return int(slot)
}

// MoveSlot moves a slot to another master while clients use it, in the same order as
// redis-cli. It calls halfway after half of the keys have moved, and again after all
// keys have moved but before the slot has. Meanwhile the source redirects clients to
// the target (ASK), and refuses a command with several keys if only some of them have
// moved (TRYAGAIN).
func (c *Cluster) MoveSlot(tb testing.TB, slot int, from, to *Server, halfway func()) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	source, target := from.Client(tb), to.Client(tb)
	defer source.Close() //nolint:errcheck // nothing is lost
	defer target.Close() //nolint:errcheck // nothing is lost
	sourceID, targetID := nodeID(ctx, tb, from), nodeID(ctx, tb, to)

	setSlot := func(at *redis.Client, args ...any) {
		tb.Helper()
		if err := at.Do(ctx, append([]any{"cluster", "setslot", slot}, args...)...).Err(); err != nil {
			tb.Fatalf("CLUSTER SETSLOT %d %v: %v", slot, args, err)
		}
	}
	setSlot(target, "importing", sourceID)
	setSlot(source, "migrating", targetID)
	moveKeys(ctx, tb, slot, source, to, 2)
	halfway()
	moveKeys(ctx, tb, slot, source, to, 1)
	halfway()
	moveKeys(ctx, tb, slot, source, to, 1)
	setSlot(target, "node", targetID)
	setSlot(source, "node", targetID)
	for _, m := range c.Masters {
		if m != from && m != to {
			other := m.Client(tb)
			setSlot(other, "node", targetID)
			_ = other.Close()
		}
	}
}

// moveKeys moves one of every oneOf keys of the slot. If oneOf is 1, it repeats that
// until the slot has no keys.
func moveKeys(ctx context.Context, tb testing.TB, slot int, source *redis.Client, to *Server, oneOf int) {
	tb.Helper()
	host, port, _ := strings.Cut(to.Addr(), ":")
	for {
		keys, err := source.ClusterGetKeysInSlot(ctx, slot, 100).Result()
		if err != nil {
			tb.Fatal(err)
		}
		for i, key := range keys {
			if i%oneOf != 0 {
				continue
			}
			// The answer is NOKEY, and not an error, if the key is gone meanwhile.
			if err := source.Do(ctx, "migrate", host, port, key, 0, 5000).Err(); err != nil {
				tb.Fatalf("MIGRATE %s to %s: %v", strconv.Quote(key), to.Addr(), err)
			}
		}
		if oneOf > 1 || len(keys) == 0 {
			return
		}
	}
}

// ErrorStat returns how often the server has answered with the named error, such as
// MOVED, ASK or TRYAGAIN.
func (s *Server) ErrorStat(tb testing.TB, name string) int {
	tb.Helper()
	c := s.Client(tb)
	defer c.Close() //nolint:errcheck // nothing is lost
	info, err := c.Info(tb.Context(), "errorstats").Result()
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "errorstat_"+name+":count=")
	digits, _, _ := strings.Cut(rest, "\r")
	n, _ := strconv.Atoi(digits) // 0 if the server has not counted any
	return n
}
