package etcdlock

import (
	"context"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/driver"
)

// Renew implements [driver.Backend]. It makes sure that the lease of etcd was kept alive
// recently, and reads the places of the owners, up to 100 in one request.
//
// A renewal may make a lease longer than the TTL of the session allows, for MinHold: the
// lease then lasts as long as the process, and only as long as the session if the process
// dies.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	sent := time.Now()
	renewals := b.table.Renewals(grants, report)
	op, end := b.opContext(ctx)
	defer end()
	var batches sync.WaitGroup
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
