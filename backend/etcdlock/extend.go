package etcdlock

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// Extend implements [driver.Extender]. If no other owner has a place in the queue, it
// writes the owner's place and makes tokens of that revision, in one transaction. Every
// owner that comes later has a place that was created later. It extends only exclusive
// locks: for others the error wraps [driver.ErrNotAcquired].
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
