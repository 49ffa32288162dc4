package main

import (
	"context"
	"fmt"
	"time"
)

// plan is what users do: one kind of sample, each of which adds one to the
// counter of its user's key, and a way to see what the counters say in the end.
// It is made for one run, with or without the lock, and starts at zero.
type plan interface {
	// sample does one sample of a user. It is called for many users at once.
	sample(ctx context.Context, user int) result

	// counted is the sum of all counters.
	counted(ctx context.Context) (int64, error)

	close() error
}

// result is what one sample came to. All but err is for the JTL file alone.
type result struct {
	err            error  // nil: the increment is there, says whoever made it
	code, message  string // of the response
	url            string
	sent, received int           // bytes of the bodies
	latency        time.Duration // to the first byte of the response
	connect        time.Duration // to make the connection, if there was none
}

// controlTimeout bounds each question that is not a sample, such as what the
// counters say.
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

// keyOf is the key of a user: the users are dealt out like cards.
func (c *config) keyOf(user int) int { return user % c.keys }

// usedKeys is how many keys have a user.
func (c *config) usedKeys() int { return min(c.keys, c.group.users) }

// increments is how many samples the users of a key do.
func (c *config) increments(key int) int {
	users := c.group.users / c.keys
	if key < c.group.users%c.keys {
		users++
	}
	return users * c.group.loops
}

// sku is what the plans that buy something buy, one for each key.
func sku(key int) string { return fmt.Sprintf("bench-%d", key+1) }

// buyer is what they call a user.
func buyer(user int) string { return fmt.Sprintf("u%d", user+1) }
