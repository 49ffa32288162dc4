package zklock

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/driver"
)

// renewals is how many nodes one Renew looks at at once.
const renewals = 256

// Renew makes sure that the nodes are there and belong to the session, and the
// session to the leader: one round trip to the leader, and then one look at each
// node, all at once. A lease may be made longer than the session's timeout
// carries, for [distlock.Opts].MinHold: it lasts for as long as the process lives,
// and no longer than the session if it does not.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	op, end := b.bound(ctx)
	defer end()
	sent := time.Now()
	confirmed := begin(b.link, func(*zk.Conn) (struct{}, error) {
		if _, err := b.link.ready(op); err != nil {
			return struct{}{}, err
		}
		return b.link.sync().wait(op)
	})
	for first := 0; first < len(grants); first += renewals {
		group := grants[first:min(first+renewals, len(grants))]
		for i, r := range b.renew(op, confirmed, sent, group) {
			report(first+i, r)
		}
	}
}

// renew renews some when the leader has answered.
func (b *Backend) renew(ctx context.Context, confirmed *pending[struct{}], sent time.Time, grants []driver.Grant) []driver.RenewResult {
	results := make([]driver.RenewResult, len(grants))
	has := make([]holding, len(grants))
	looks := make([]*pending[zk.Stat], len(grants))
	for i := range grants {
		h, ok := b.table.holding(claim{grants[i].Key, grants[i].Owner})
		if !ok {
			results[i].Status = driver.Lost
			continue
		}
		if _, err := confirmed.wait(ctx); err == nil {
			has[i], looks[i] = h, b.link.stat(h.path)
		} else {
			results[i].Err = err
			has[i] = h
		}
	}
	for i := range grants {
		h := &has[i]
		if h.place == nil {
			continue
		}
		if looks[i] != nil {
			stat, err := looks[i].wait(ctx)
			switch {
			case err != nil:
				results[i].Err = err
			case stat.EphemeralOwner != h.of.id:
				b.giveUp(h.place)
				results[i].Status = driver.Lost
				continue
			case b.link.session() == h.of:
				g := h.grant
				g.Sent, g.TTL = sent, grants[i].TTL
				results[i].Status = driver.Lost
				if b.table.extend(h.place, g) {
					results[i].Status = driver.Renewed
				}
				continue
			default:
				results[i].Err = b.link.explain(errNoSession)
			}
		}
		select {
		case <-h.of.ended: // and the node with it, whatever the answer was
			b.giveUp(h.place)
			results[i] = driver.RenewResult{Status: driver.Lost}
		default:
		}
	}
	return results
}

// giveUp gives up the place of an owner who has lost the key.
func (b *Backend) giveUp(p *place) {
	if b.table.remove(p) {
		b.clear(p)
	}
}
