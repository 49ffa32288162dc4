package redlock

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
)

// restore puts locks that a quorum has just extended on a node where nobody has
// them: it was down, or it has forgotten them for so long that it is trusted
// again. A release that comes meanwhile waits for it, or stops it.
func (v *renewal) restore(ctx context.Context, n *node) {
	var keys []string
	var args []any
	var puts []int
	flush := func() {
		if len(puts) > 0 {
			v.put(ctx, n, puts, keys, args)
		}
		keys, args, puts = nil, nil, nil
	}
	for _, i := range v.valid {
		g := v.grants[i]
		if v.results[i].Status != driver.Renewed || !slices.Contains(v.counts[i].missing, n.index) ||
			time.Since(v.sent) > g.TTL/2 { // what the quorum said is getting old
			continue
		}
		generation, ok := v.b.claims.startOn(v.claims[i], n.index)
		if !ok {
			continue
		}
		keys = append(keys, g.Key, graveKey(g.Key, g.Owner, everything))
		args = append(args, value(g.Owner, generation), millis(onNode(g.TTL)))
		if puts = append(puts, i); len(puts) == batch {
			flush()
		}
	}
	flush()
}

func (v *renewal) put(ctx context.Context, n *node, puts []int, keys []string, args []any) {
	keys = append([]string{markerKey}, keys...)
	args = append([]any{onNode(v.b.opts.maxLease).Microseconds()}, args...)
	op := func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return run(ctx, c, restoreScript, len(puts), keys, args)
	}
	send(ctx, n, v.limit, op, func(_ []int64, sure bool, _ error) {
		for _, i := range puts {
			v.b.claims.end(v.claims[i], n.index, sure)
		}
	})
}
