package redlock

import (
	"cmp"
	"context"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// Release gives the key back on all nodes. It returns when the outcome is clear for a
// quorum. It continues in the background with the other nodes, until they have answered
// or the lease has ended there.
//
// It fails with [driver.ErrLost] if the owner has the key on too few nodes to be the
// holder, and either g has tokens or another owner may hold the key. A grant without
// tokens without an owner may have been released before, so it is not an error. If too
// many nodes do not answer, Release fails with their errors.
func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	if err := cmp.Or(ctx.Err(), rediskit.CheckNames("redlock", g.Key, g.Owner)); err != nil {
		return err // nothing was sent
	}
	if g.TTL <= 0 || g.TTL > b.cfg.MaxLease {
		g.TTL = b.cfg.MaxLease
	}
	answers := newBallot(len(b.nodes))
	o := b.owners.markReleased(g.Owner)
	for i := range b.nodes {
		b.owners.whenIdle(o, i, func() {
			r := nodeRelease{key: g.Key, owner: g.Owner, generation: anyGeneration, ttl: g.TTL, state: o}
			if b.cfg.Tokens {
				r.first, r.last = g.Token, g.LastToken
			}
			if b.owners.isInDoubt(o, i) {
				r.inDoubt = everyDoubt
			}
			b.pending[i].send(ctx, r, b.limit(g.TTL), answers.cast)
		})
	}
	b.owners.unref(o)

	count := releaseCount{nodes: len(b.nodes), quorum: b.quorum, tokens: g.Token != 0}
	return b.nodes.count(ctx, answers, count.add)
}
