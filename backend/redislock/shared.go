package redislock

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
)

// Features implements [driver.Backend]. Readers and holders of permits exclude each
// other: a key is used as the one or as the other. How many permits there are is what
// each asks for itself, of those that are taken by then.
func (*Backend) Features() driver.Features { return driver.Features{Sharing: true} }

// wants returns what scripts are told that an owner wants: "r" is to read, "p3"
// one of three permits, "" the lock alone.
func wants(m driver.Mode, permits int) string {
	switch {
	case permits > 0:
		return "p" + strconv.Itoa(permits)
	case m == driver.Shared:
		return "r"
	default:
		return ""
	}
}

func checkMode(m driver.Mode, permits int) error {
	switch {
	case permits < 0:
		return fmt.Errorf("redislock: %d permits", permits)
	case m != driver.Exclusive && m != driver.Shared, permits > 0 && m != driver.Exclusive:
		return fmt.Errorf("redislock: %v with %d permits is no way to hold a key", m, permits)
	default:
		return nil
	}
}

var errProlong = fmt.Errorf("redislock: only an exclusive lock can be prolonged: %w", driver.ErrNotAcquired)

// renewal returns the script that renews g.
func renewal(g driver.Grant) *redis.Script {
	if wants(g.Mode, g.Permits) != "" {
		return renewSharedScript
	}
	return renewScript
}

// holding returns what is at the key of a lock for g: the value, or a member of
// the sorted set.
func holding(g driver.Grant) string {
	if w := wants(g.Mode, g.Permits); w != "" {
		return w[:1] + " " + g.Owner
	}
	return g.Owner
}

// byScript sorts the grants that group lists by the script that renews them.
func byScript(grants []driver.Grant, group []int) {
	alone := func(i int) bool { return renewal(grants[i]) == renewScript }
	slices.SortStableFunc(group, func(i, j int) int {
		switch a, b := alone(i), alone(j); {
		case a == b:
			return 0
		case a:
			return -1
		default:
			return 1
		}
	})
}

// sameScript returns how many grants at the beginning of group go into one script.
func sameScript(grants []driver.Grant, group []int) int {
	script := renewal(grants[group[0]])
	for n := range min(renewBatch, len(group)) {
		if renewal(grants[group[n]]) != script {
			return n
		}
	}
	return min(renewBatch, len(group))
}
