package etcdlock

import (
	"context"
	"slices"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxInFlight is how many requests a batcher has in flight before it begins to collect
// others. A process that uses few keys at a time sends each request at once.
const maxInFlight = 4

// batcher sends the requests that create and delete places. Those that wait while others
// are in flight are sent together, as one transaction: one entry in the log of etcd.
type batcher struct {
	backend *Backend

	mu       sync.Mutex
	inFlight int
	waiting  []*job
}

// job is one request of a batch.
type job struct {
	ctx   context.Context //nolint:containedctx // of the caller that waits for the answer
	op    clientv3.Op
	names []string // no two jobs of a batch have a name in common

	done   chan struct{} // closed when answer and err are set
	answer answer
	err    error
}

// answer is the answer to one job.
type answer struct {
	txn      *pb.TxnResponse // nil after a deletion
	deleted  int64
	revision int64
}

// do sends op. No two requests with a name in common are in one transaction: two places of
// a key would have one revision, and there would be no order.
func (t *batcher) do(ctx context.Context, op clientv3.Op, names ...string) (answer, error) {
	t.mu.Lock()
	if t.inFlight < maxInFlight {
		t.inFlight++
		t.mu.Unlock()
		defer t.next()
		return t.sendOne(ctx, op)
	}
	j := &job{ctx: ctx, op: op, names: names, done: make(chan struct{})}
	t.waiting = append(t.waiting, j)
	t.mu.Unlock()
	select {
	case <-j.done:
		return j.answer, j.err
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-t.backend.background.Done():
		return answer{}, errClosed
	}
}

// next ends a request that was in flight. If others wait, it has them sent.
func (t *batcher) next() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if batch := t.take(); len(batch) > 0 {
		t.backend.run(func() {
			t.send(batch)
			t.next()
		})
		return
	}
	t.inFlight--
}

// take removes a batch from those that wait. The deletions come first: a waiter watches for
// the deletion of a place from the revision after the one at which it has read the queue.
func (t *batcher) take() (batch []*job) {
	names := make(map[string]bool)
	isNamed := func(name string) bool { return names[name] }
	t.waiting = slices.DeleteFunc(t.waiting, func(j *job) bool {
		if j.ctx.Err() != nil {
			return true
		}
		if len(batch) == maxOps || slices.ContainsFunc(j.names, isNamed) {
			return false
		}
		for _, name := range j.names {
			names[name] = true
		}
		batch = append(batch, j)
		return true
	})
	slices.SortStableFunc(batch, func(x, y *job) int { return len(x.names) - len(y.names) })
	return batch
}

// send sends a batch.
func (t *batcher) send(batch []*job) {
	ctx, end := t.backend.opContext(t.backend.background)
	defer end()
	ops := make([]clientv3.Op, len(batch))
	for i, j := range batch {
		ops[i] = j.op
	}
	resp, err := t.backend.client.Txn(ctx).Then(ops...).Commit()
	if err == nil {
		t.backend.learnTerm(resp.Header)
	}
	for i, j := range batch {
		switch {
		case err == nil:
			j.answer = answer{resp.Responses[i].GetResponseTxn(), resp.Responses[i].GetResponseDeleteRange().GetDeleted(), resp.Header.Revision}
		case isUnknown(err):
			j.err = err
		default: // the server may have refused the batch because of another job
			j.answer, j.err = t.sendOne(j.ctx, j.op)
		}
		close(j.done)
	}
}

func (t *batcher) sendOne(ctx context.Context, op clientv3.Op) (answer, error) {
	resp, err := t.backend.client.Do(ctx, op)
	switch {
	case err != nil:
		return answer{}, err
	case op.IsTxn():
		t.backend.learnTerm(resp.Txn().Header)
		return answer{txn: (*pb.TxnResponse)(resp.Txn()), revision: resp.Txn().Header.Revision}, nil
	}
	return answer{deleted: resp.Del().Deleted}, nil
}
