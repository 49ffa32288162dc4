package redlock

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxPending is how many releases are kept for one node. A node with more is far
	// behind, and leases end by themselves.
	maxPending = 2_000

	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// nodeRelease is a release of a lock on one node.
type nodeRelease struct {
	key, owner  string
	generation  int
	first, last uint64 // tokens
	ttl         time.Duration

	state   *ownerState // kept until the release is resolved
	inDoubt int         // the operations in doubt that it resolves
	until   time.Time   // when the lease has ended on the node
}

// tombstoneTTL returns how long the node refuses what the release overtakes. An
// operation that arrives later acquires the lock for one lease, in vain.
func (r *nodeRelease) tombstoneTTL() time.Duration {
	if r.inDoubt == 0 {
		return 0
	}
	return max(nodeTTL(r.ttl), time.Minute)
}

// pendingReleases are the releases that a node has not answered. Each is repeated until
// the node answers or its lease has ended.
type pendingReleases struct {
	node   *node
	owners *owners
	count  atomic.Int32
}

// send releases on the node, and repeats it in the background until the outcome is
// known. It calls onReply with what the first request has found. If known is false,
// this request was repeated, and may have found its own effect.
func (p *pendingReleases) send(ctx context.Context, r nodeRelease, limit time.Duration, onReply func(found int64, known bool, err error)) {
	r.until = time.Now().Add(nodeTTL(r.ttl))
	p.request(ctx, &r, limit, func(found int64, known bool, err error) {
		switch {
		case err == nil:
			p.resolve(&r)
		case p.count.Add(1) > maxPending:
			p.count.Add(-1)
			p.resolve(&r)
		default:
			p.repeat(ctx, &r, firstPause)
		}
		onReply(found, known, err)
	})
}

// request sends the release once.
func (p *pendingReleases) request(ctx context.Context, r *nodeRelease, limit time.Duration, done func(found int64, known bool, err error)) {
	keys := []string{r.key, tokenKey(r.key), tombstoneKey(r.key, r.owner, r.generation)}
	args := []any{r.owner, r.generation, millis(r.tombstoneTTL()), r.first, r.last}
	op := func(ctx context.Context, c redis.UniversalClient) (int64, error) {
		return releaseScript.Run(ctx, c, keys, args...).Int64()
	}
	send(ctx, p.node, p.node.own.Client, limit, op, done)
}

// repeat sends a pending release again after a pause. After the end of the Backend it
// drops the release: the lease ends by itself.
func (p *pendingReleases) repeat(ctx context.Context, r *nodeRelease, pause time.Duration) {
	time.AfterFunc(pause/2+rand.N(pause/2), func() {
		if p.node.background.Err() != nil || time.Now().After(r.until) {
			p.count.Add(-1)
			p.resolve(r)
			return
		}
		p.request(ctx, r, p.node.timeout, func(_ int64, _ bool, err error) {
			if err != nil {
				p.repeat(ctx, r, min(2*pause, longestPause))
				return
			}
			p.count.Add(-1)
			p.resolve(r)
		})
	})
}

// resolve ends a release that the node has answered, or that is not sent any more.
func (p *pendingReleases) resolve(r *nodeRelease) {
	p.owners.resolve(r.state, p.node.index, r.inDoubt)
}
