package load

import "context"

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

// openPlan returns c's plan, ready for a run.
func openPlan(ctx context.Context, c *config, locked bool) (plan, error) {
	switch c.plan {
	case "http":
		return openShopPlan(ctx, c, newHTTPShop(c, locked))
	case "grpc":
		s, err := newGRPCShop(c, locked)
		if err != nil {
			return nil, err
		}
		return openShopPlan(ctx, c, s)
	default:
		return openWrapPlan(ctx, c, locked)
	}
}

// usedKeys returns how many keys have a user: users are assigned to the keys in turn.
func (c *config) usedKeys() int { return min(c.keys, c.group.users) }
