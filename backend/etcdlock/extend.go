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
	l, ok := b.table.heldBy(ticketID{g.Key, g.Owner})
	if !ok {
		return driver.Grant{}, errNotHeld
	}
	if l.session.hasEnded() {
		b.table.remove(l.ticket, false)
		return driver.Grant{}, errNotHeld
	}
	op, end := b.opContext(ctx)
	defer end()
	extended := l.grant
	extended.Sent, extended.TTL, extended.Contended = time.Now(), min(g.TTL, l.session.maxLease()), false
	resp, err := b.client.Txn(op).If(
		clientv3.Compare(clientv3.CreateRevision(l.path), "=", l.created),
		clientv3.Compare(clientv3.CreateRevision(b.dir(g.Key)), "<", l.created+1).WithPrefix(),
	).Then(
		clientv3.OpPut(l.path, valueOf(g.Sharing(), g.Owner), clientv3.WithLease(l.session.id)),
	).Else(
		clientv3.OpGet(l.path, clientv3.WithMinCreateRev(l.created), clientv3.WithMaxCreateRev(l.created)),
	).Commit()
	switch {
	case err != nil:
		return driver.Grant{}, b.explain(op, err)
	case !resp.Succeeded && len(resp.Responses[0].GetResponseRange().Kvs) > 0:
		return driver.Grant{}, errOthers
	case !resp.Succeeded:
		b.table.remove(l.ticket, false)
		return driver.Grant{}, errNotHeld
	}
	b.learnTerm(resp.Header)
	if err := l.session.fresh(op, extended.Sent); errors.Is(err, errLeaseGone) {
		return driver.Grant{}, errNotHeld
	} else if err != nil {
		return driver.Grant{}, err
	}
	extended.Token, extended.LastToken = placequeue.Tokens(resp.Header.Revision, tokensPerRevision, n)
	if !b.table.extend(l.ticket, extended) {
		return driver.Grant{}, errNotHeld
	}
	return extended, nil
}
