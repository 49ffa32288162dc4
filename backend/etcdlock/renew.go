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
type renewal struct {
	index int
	lock  held
}

// Renew implements [driver.Backend]. It makes sure that the lease of etcd was kept alive
// recently, and reads the places of the owners, up to 100 in one request.
//
// A renewal may make a lease longer than the TTL of the session allows, for MinHold: the
// lease then lasts as long as the process, and only as long as the session if the process
// dies.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	sent := time.Now()
	var renewals []renewal
	for i := range grants {
		l, ok := b.table.HeldBy(placequeue.ID{Key: grants[i].Key, Owner: grants[i].Owner})
		switch {
		case !ok:
			report(i, driver.RenewResult{Status: driver.Lost})
		case l.Store.session.hasEnded():
			b.table.lose(l.Ticket, false)
			report(i, driver.RenewResult{Status: driver.Lost})
		default:
			renewals = append(renewals, renewal{i, l})
		}
	}
	op, end := b.opContext(ctx)
	defer end()
	var batches sync.WaitGroup
	for batch := range slices.Chunk(renewals, maxOps) {
		batches.Go(func() {
			places := make(queue, len(batch))
			for i, r := range batch {
				places[i] = place{path: r.lock.Place, created: r.lock.Store.created}
			}
			exist, unknown := b.exist(op, places)
			for i, r := range batch {
				err := unknown
				if err == nil && exist[i] {
					err = r.lock.Store.session.fresh(op, sent)
				}
				report(r.index, b.renewed(r.lock, exist[i], err, sent, &grants[r.index]))
			}
		})
	}
	batches.Wait()
}

// exist returns which of at most maxOps places exist.
func (b *Backend) exist(ctx context.Context, places queue) ([]bool, error) {
	exist := make([]bool, len(places))
	ops := make([]clientv3.Op, len(places))
	for i, p := range places {
		ops[i] = clientv3.OpGet(p.path, clientv3.WithKeysOnly())
	}
	resp, err := b.client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return exist, b.explain(ctx, err)
	}
	b.learnTerm(resp.Header)
	for i, p := range places {
		kvs := resp.Responses[i].GetResponseRange().Kvs
		exist[i] = len(kvs) > 0 && kvs[0].CreateRevision == p.created
	}
	return exist, nil
}

// renewed records the outcome of a renewal and returns it.
func (b *Backend) renewed(l held, exists bool, err error, sent time.Time, asked *driver.Grant) driver.RenewResult {
	if l.Store.session.hasEnded() || errors.Is(err, errLeaseGone) || err == nil && !exists {
		b.table.lose(l.Ticket, false)
		return driver.RenewResult{Status: driver.Lost}
	}
	if err != nil {
		return driver.RenewResult{Err: err}
	}
	g := l.Grant
	g.Sent, g.TTL, g.Retain = sent, asked.TTL, asked.Retain
	if !b.table.Extend(l.Ticket, g) {
		return driver.RenewResult{Status: driver.Lost}
	}
	return driver.RenewResult{Status: driver.Renewed}
}
