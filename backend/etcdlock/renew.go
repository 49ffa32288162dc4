package etcdlock

import (
	"context"
	"errors"
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
				if err == nil {
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

// Extend implements [driver.Extender]. If no other owner has a place in the queue, it
// writes the owner's place and makes tokens of that revision, in one transaction. Every
// owner that comes later has a place that was created later.
func (b *backend) Extend(ctx context.Context, g driver.Grant, n int) (driver.Grant, error) {
	l, err := b.table.Extendable(&g)
	if err != nil {
		return driver.Grant{}, err
	}
	op, end := b.opContext(ctx)
	defer end()
	extended := l.Grant
	extended.Sent, extended.TTL, extended.Contended = time.Now(), min(g.TTL, l.Store.maxLease()), false
	resp, _, err := twice(op, b.link, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return b.client.Txn(ctx).If(
			clientv3.Compare(clientv3.CreateRevision(l.Place), "=", l.Store.created),
			clientv3.Compare(clientv3.CreateRevision(b.dir(g.Key)), "<", l.Store.created+1).WithPrefix(),
		).Then(
			clientv3.OpPut(l.Place, valueOf(g.Sharing(), g.Owner), clientv3.WithIgnoreLease()), // which keep may have changed, if this arrives late
		).Else(
			clientv3.OpGet(l.Place, clientv3.WithMinCreateRev(l.Store.created), clientv3.WithMaxCreateRev(l.Store.created)),
		).Commit()
	})
	switch {
	case err != nil:
		return driver.Grant{}, b.explain(op, err)
	case !resp.Succeeded && len(resp.Responses[0].GetResponseRange().Kvs) > 0:
		return driver.Grant{}, placequeue.ErrOthersWait
	case !resp.Succeeded:
		b.table.Lose(l.Ticket, false)
		return driver.Grant{}, placequeue.ErrNotHeld
	}
	b.learnTerm(resp.Header)
	if err := l.Store.fresh(op, extended.Sent); errors.Is(err, errLeaseGone) {
		return driver.Grant{}, placequeue.ErrNotHeld
	} else if err != nil {
		return driver.Grant{}, err
	}
	extended.Token, extended.LastToken = placequeue.Tokens(resp.Header.Revision, tokensPerRevision, n)
	if !b.table.Extend(l.Ticket, extended) {
		return driver.Grant{}, placequeue.ErrNotHeld
	}
	return extended, nil
}
