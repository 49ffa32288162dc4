package main

import (
	"context"
	"fmt"
	"time"
)

// plan is what users do: a kind of sample that adds one to the counter of the user's
// key, and a way to read the counters at the end. It is made for one run, with or
// without the lock, and its counters start at zero.
type plan interface {
	// sample does one sample of a user. It is called concurrently.
	sample(ctx context.Context, user int) result

	// counted returns the sum of all counters.
	counted(ctx context.Context) (int64, error)

	close() error
}

// result is the result of one sample. All fields except err are for the JTL file only.
type result struct {
	err            error  // nil: the increment was confirmed
	code, message  string // of the response
	url            string
	sent, received int // bytes of the bodies
}

// controlTimeout limits each request that is not a sample, such as reading the
// counters.
const controlTimeout = 10 * time.Second

// openPlan returns c's plan, ready for a run.
func openPlan(ctx context.Context, c *config, locked bool) (plan, error) {
	switch c.plan {
	case "http":
		return openHTTPPlan(ctx, c, locked)
	case "grpc":
		return openGRPCPlan(ctx, c, locked)
	default:
		return openWrapPlan(ctx, c, locked)
	}
}

// keyOf returns the key of a user: users are assigned to the keys in turn.
func (c *config) keyOf(user int) int { return user % c.keys }

// usedKeys returns how many keys have a user.
func (c *config) usedKeys() int { return min(c.keys, c.group.users) }

// increments returns how many samples the users of a key do.
func (c *config) increments(key int) int {
	users := c.group.users / c.keys
	if key < c.group.users%c.keys {
		users++
	}
	return users * c.group.loops
}

// sku returns the item of a key, for the plans that place orders.
func sku(key int) string { return fmt.Sprintf("bench-%d", key+1) }

// buyer returns the name of a user, for the same plans.
func buyer(user int) string { return fmt.Sprintf("u%d", user+1) }
