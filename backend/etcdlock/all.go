package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
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
		sent := time.Now()
		queues, own, revision, err := b.createAll(ctx, s, tickets, newest)
		switch {
		case errors.Is(err, errFence):
			continue
		case errors.Is(err, rpctypes.ErrTooManyOps):
			return nil, fmt.Errorf("%w: %w", b.explain(ctx, err), errors.ErrUnsupported)
		case err != nil:
			return nil, b.explain(ctx, err)
		}
		var grants []driver.Grant
		for i, q := range queues {
			switch {
			case own[i] < 0 && q.admits(tickets[i].sharing):
				continue
			case own[i] < 0, len(placequeue.Blockers(q, own[i])) > 0:
				return nil, b.heldError(q)
			}
			g, err := b.grant(ctx, tickets[i], &rs[i], s, q, own[i], sent)
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

// createAll is create for several places with try. It returns the queue of each key, with
// the index of the ticket's place or -1, and their revision.
func (b *Backend) createAll(ctx context.Context, s *session, tickets []*ticket, newest int64) ([]queue, []int, int64, error) {
	fence := s.fence.Load()
	compares, puts, reads := []clientv3.Cmp{s.compare(fence)}, []clientv3.Op{}, []clientv3.Op{clientv3.OpGet(s.path)}
	creations := make([]creation, len(tickets))
	for i, tk := range tickets {
		path, _, ok := b.table.begin(tk, s)
		if !ok {
			for _, begun := range tickets[:i] {
				b.table.answered(begun, s, 0)
			}
			return nil, nil, 0, errGivenUp
		}
		c := b.creation(tk, path, true, newest)
		compares, puts, reads = append(compares, c.compare()), append(puts, c.put(s)), append(reads, c.read())
		creations[i] = c
	}
	resp, err := b.client.Txn(ctx).If(compares...).Then(puts...).Else(reads...).Commit()
	if err != nil {
		for _, tk := range tickets {
			if isUnknown(err) {
				b.table.unanswered(tk, s, fence)
			} else {
				b.table.answered(tk, s, 0)
			}
		}
		return nil, nil, 0, err
	}
	b.learnTerm(resp.Header)
	queues, own := make([]queue, len(tickets)), make([]int, len(tickets))
	for i, tk := range tickets {
		if resp.Succeeded {
			queues[i] = queue{creations[i].place(resp.Header.Revision)}
		} else {
			queues[i] = parseQueue(resp.Responses[i+1].GetResponseRange().Kvs, b.opts.prefix)
		}
		own[i] = queues[i].find(creations[i].path)
		b.table.answered(tk, s, queues[i].created(own[i]))
	}
	if !resp.Succeeded && !s.learn(resp.Responses[0].GetResponseRange(), fence) {
		return nil, nil, 0, errFence
	}
	return queues, own, resp.Header.Revision, nil
}
