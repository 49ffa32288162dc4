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
func (b *Backend) Extend(ctx context.Context, g driver.Grant, n int) (driver.Grant, error) {
	if g.Sharing() != (driver.Sharing{}) {
		return driver.Grant{}, errNotExclusive
	}
	l, ok := b.table.HeldBy(placequeue.ID{Key: g.Key, Owner: g.Owner})
	if !ok {
		return driver.Grant{}, errNotHeld
	}
	if l.Store.session.hasEnded() {
		b.table.lose(l.Ticket, false)
		return driver.Grant{}, errNotHeld
	}
	op, end := b.opContext(ctx)
	defer end()
	extended := l.Grant
	extended.Sent, extended.TTL, extended.Contended = time.Now(), min(g.TTL, l.Store.session.maxLease()), false
	resp, err := b.client.Txn(op).If(
		clientv3.Compare(clientv3.CreateRevision(l.Place), "=", l.Store.created),
		clientv3.Compare(clientv3.CreateRevision(b.dir(g.Key)), "<", l.Store.created+1).WithPrefix(),
	).Then(
		clientv3.OpPut(l.Place, valueOf(g.Sharing(), g.Owner), clientv3.WithLease(l.Store.session.id)),
	).Else(
		clientv3.OpGet(l.Place, clientv3.WithMinCreateRev(l.Store.created), clientv3.WithMaxCreateRev(l.Store.created)),
	).Commit()
	switch {
	case err != nil:
		return driver.Grant{}, b.explain(op, err)
	case !resp.Succeeded && len(resp.Responses[0].GetResponseRange().Kvs) > 0:
		return driver.Grant{}, errOthers
	case !resp.Succeeded:
		b.table.lose(l.Ticket, false)
		return driver.Grant{}, errNotHeld
	}
	b.learnTerm(resp.Header)
	if err := l.Store.session.fresh(op, extended.Sent); errors.Is(err, errLeaseGone) {
		return driver.Grant{}, errNotHeld
	} else if err != nil {
		return driver.Grant{}, err
	}
	extended.Token, extended.LastToken = placequeue.Tokens(resp.Header.Revision, tokensPerRevision, n)
	if !b.table.Extend(l.Ticket, extended) {
		return driver.Grant{}, errNotHeld
	}
	return extended, nil
}
