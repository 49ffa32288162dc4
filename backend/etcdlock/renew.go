package etcdlock

import (
	"context"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// renewal is one grant of a call of Renew.
type renewal = placequeue.Renewal[*ticket, granted]

// Renew implements [driver.Backend]. It makes sure that the lease of etcd was kept
// alive recently, and reads the places of the owners, up to 100 in one request.
//
// A renewal may make a lease longer than the TTL of the session allows: the lease then
// lasts as long as the process, and only as long as the session if the process dies.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	sent := time.Now()
	renewals := b.table.Renewals(grants, report)
	op, end := b.opContext(ctx)
	defer end()
	var batches sync.WaitGroup
	renewals = slices.DeleteFunc(renewals, func(r renewal) bool {
		if r.Asked.Retain {
			batches.Go(func() {
				kept, err := b.keep(op, &r)
				report(r.Index, b.table.Renewed(&r, sent, kept, err))
			})
		}
		return r.Asked.Retain
	})
	for batch := range slices.Chunk(renewals, maxOps) {
		batches.Go(func() {
			places := make(queue, len(batch))
			for i, r := range batch {
				places[i] = place{path: r.Place, created: r.Store.created}
			}
			exist, unknown := b.exist(op, places)
			for i, r := range batch {
				err := unknown
				if err == nil && exist[i] {
					err = r.Store.fresh(op, sent)
				}
				report(r.Index, b.table.Renewed(&r, sent, exist[i], err))
			}
		})
	}
	batches.Wait()
}

// keep attaches the place of an owner that is done to a lease of etcd of its own. It
// returns false if the place does not exist. Without an answer that lease is left to
// end by itself: the place may be attached to it.
func (b *backend) keep(ctx context.Context, r *renewal) (kept bool, err error) {
	lease, err := b.newLease(ctx, int64(r.Asked.TTL/time.Second)+1)
	if err != nil {
		return false, b.explain(ctx, err)
	}
	resp, _, err := b.txn(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(r.Place), "=", r.Store.created)},
		clientv3.OpPut(r.Place, valueOf(r.Grant.Sharing(), r.Grant.Owner), clientv3.WithLease(lease.ID)))
	if err != nil {
		return false, b.explain(ctx, err)
	}
	return resp.Succeeded, nil
}
