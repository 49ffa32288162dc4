package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/driver"
)

// TryAcquireAll implements [driver.AllAcquirer], for up to 100 keys. It is TryAcquire in
// one transaction: one request, or two if owners join other holders.
func (b *Backend) TryAcquireAll(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
	if len(rs) > maxOps {
		return nil, fmt.Errorf("etcdlock: one transaction takes at most %d keys: %w", maxOps, errors.ErrUnsupported)
	}
	tickets := make([]*ticket, len(rs))
	for i := range rs {
		var err error
		if tickets[i], err = b.ticket(ctx, &rs[i], false); err != nil {
			return nil, err
		}
	}
	op, end := b.opContext(ctx)
	defer end()
	grants, err := b.attemptAll(op, tickets, rs)
	if errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, errors.ErrUnsupported) {
		for _, tk := range tickets {
			b.table.remove(tk, true)
		}
	}
	return grants, err
}

// attemptAll is attempt for several tickets. Either all of them have places, as after a
// request without an answer, or none.
func (b *Backend) attemptAll(ctx context.Context, tickets []*ticket, rs []driver.Request) ([]driver.Grant, error) {
	newest := int64(0)
	for ctx.Err() == nil {
		s, err := b.session(ctx)
		if err != nil {
			return nil, err
		}
		sent, fence := time.Now(), s.fence.Load()
		creations := make([]creation, len(tickets))
		for i, tk := range tickets {
			path, _ := b.table.bind(tk, s)
			creations[i] = creation{path: path, dir: b.dir(tk.id.key), value: valueOf(tk.sharing), try: true, newest: newest}
		}
		queues, revision, err := b.createAll(ctx, s, fence, creations)
		switch {
		case errors.Is(err, errFence):
			continue
		case errors.Is(err, rpctypes.ErrTooManyOps):
			return nil, fmt.Errorf("%w: %w", b.explain(ctx, err), errors.ErrUnsupported)
		case err != nil:
			for i, tk := range tickets {
				b.table.setDoubt(tk, creations[i].path, s, fence)
			}
			return nil, b.explain(ctx, err)
		}
		var grants []driver.Grant
		for i, q := range queues {
			own := q.find(creations[i].path)
			if own < 0 {
				if !q.admits(tickets[i].sharing) {
					return nil, b.heldError(q)
				}
				continue
			}
			if !b.table.setCreated(tickets[i], creations[i].path, s, q[own].created) {
				return nil, errGivenUp
			}
			if len(q.blockers(own)) > 0 {
				return nil, b.heldError(q)
			}
			g, err := b.grant(ctx, tickets[i], &rs[i], s, q, own, sent)
			if err != nil {
				return nil, err
			}
			grants = append(grants, g)
		}
		switch len(grants) {
		case len(rs):
			return grants, nil
		case 0:
			newest = revision
		default:
			return nil, b.serverError("an owner's place was deleted", nil)
		}
	}
	return nil, b.explain(ctx, ctx.Err())
}

// createAll is create for several places with try.
func (b *Backend) createAll(ctx context.Context, s *session, fence int64, creations []creation) ([]queue, int64, error) {
	compares, puts, reads := []clientv3.Cmp{s.compare(fence)}, []clientv3.Op{}, []clientv3.Op{clientv3.OpGet(s.path)}
	for _, c := range creations {
		compares, puts, reads = append(compares, c.compare()), append(puts, c.put(s)), append(reads, c.read())
	}
	resp, err := b.client.Txn(ctx).If(compares...).Then(puts...).Else(reads...).Commit()
	if err != nil {
		return nil, 0, err
	}
	revision := resp.Header.Revision
	queues := make([]queue, len(creations))
	for i, c := range creations {
		if resp.Succeeded {
			queues[i] = queue{c.place(revision)}
		} else {
			queues[i] = parseQueue(resp.Responses[i+1].GetResponseRange().Kvs, b.opts.prefix)
		}
	}
	if !resp.Succeeded && !s.learn(resp.Responses[0].GetResponseRange(), fence) {
		return nil, 0, errFence
	}
	return queues, revision, nil
}
