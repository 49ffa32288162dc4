package etcdlock

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// retryInterval is the wait of a request without a Backoff.
const retryInterval = 500 * time.Millisecond

// TryAcquire implements [driver.Backend]. It creates a place only if the owner then has
// the key: one request if the key is free, or if it is held by an owner that excludes
// others; two if the owner joins other holders.
//
// The grant's TTL is shorter than the request's if the TTL of the session is too short for
// it.
func (b *Backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	tk, err := b.ticket(ctx, &r, false)
	if err != nil {
		return driver.Grant{}, err
	}
	op, end := b.opContext(ctx)
	defer end()
	g, o, err := b.attempt(op, tk, &r, true)
	if errors.Is(err, errHeld) {
		err = b.heldError(o.queue)
	}
	if errors.Is(err, driver.ErrNotAcquired) {
		b.table.remove(tk, true)
	}
	return g, err
}

// Acquire implements [driver.Queuer]. It creates a place in the queue and watches only the
// places that it waits for. It also looks again when r.Backoff says so. If the lease of
// etcd ends, it creates a place anew. A nil r.Backoff means half a second and no limit.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	tk, err := b.ticket(ctx, &r, true)
	if err != nil {
		return driver.Grant{}, err
	}
	w := waiter{backend: b, ticket: tk, backoff: r.Backoff}
	if w.backoff == nil {
		w.backoff = driver.NewBackoff(retryInterval, 0)
	}
	defer w.stop()
	for {
		op, end := b.opContext(ctx)
		g, o, err := b.attempt(op, tk, &r, false)
		end()
		if !errors.Is(err, errHeld) {
			return g, w.explain(ctx, err)
		}
		w.last = o
		if err := w.wait(ctx); err != nil {
			return driver.Grant{}, w.explain(ctx, err)
		}
	}
}

// ticket returns the ticket of the request's owner.
func (b *Backend) ticket(ctx context.Context, r *driver.Request, queued bool) (*ticket, error) {
	if err := checkRequest(r); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err // nothing was sent
	}
	if b.background.Err() != nil {
		return nil, errClosed
	}
	return b.table.getOrAdd(r, queued)
}

// obstacle is why a ticket's owner does not get the key now.
type obstacle struct {
	session  *session
	queue    queue
	own      place // that of the ticket; zero if it has none
	blockers queue // of that place
	revision int64 // at which the queue was read
}

// attempt grants the key if it is the owner's turn. Otherwise the error is errHeld. With
// try, it creates a place only if the owner then has the key.
func (b *Backend) attempt(ctx context.Context, tk *ticket, r *driver.Request, try bool) (driver.Grant, obstacle, error) {
	newest := int64(0) // with try, the owner shares the key with all places up to this revision
	for ctx.Err() == nil {
		s, err := b.session(ctx)
		if err != nil {
			return driver.Grant{}, obstacle{}, err
		}
		sent := time.Now()
		o := obstacle{session: s}
		path, created, ok := b.table.begin(tk, s)
		if !ok {
			return driver.Grant{}, obstacle{}, errGivenUp
		}
		fence := s.fence.Load()
		if created != 0 {
			o.queue, o.revision, err = b.queue(ctx, tk.id.key)
		} else {
			o.queue, o.revision, err = b.create(ctx, s, fence, b.creation(tk, path, try, newest))
		}
		i := o.queue.find(path)
		if created == 0 && isUnknown(err) {
			b.table.unanswered(tk, s, fence)
		} else {
			b.table.answered(tk, s, o.queue.created(i))
		}
		switch {
		case errors.Is(err, errFence):
		case err != nil:
			return driver.Grant{}, obstacle{}, b.explain(ctx, err)
		case i >= 0:
			o.own, o.blockers = o.queue[i], placequeue.Blockers(o.queue, i)
			if len(o.blockers) > 0 {
				return driver.Grant{}, o, errHeld
			}
			if g, err := b.grant(ctx, tk, r, s, o.queue, i, sent); !errors.Is(err, errLeaseGone) {
				return g, obstacle{}, err
			}
		case created != 0:
			b.table.setDeleted(tk, s)
		case !o.queue.admits(tk.sharing):
			return driver.Grant{}, o, errHeld
		default:
			newest = o.revision
		}
	}
	return driver.Grant{}, obstacle{}, b.explain(ctx, ctx.Err())
}

// grant records that the owner of tk has the key, with place i of the queue.
func (b *Backend) grant(ctx context.Context, tk *ticket, r *driver.Request, s *session, q queue, i int, sent time.Time) (driver.Grant, error) {
	if err := s.fresh(ctx, sent); err != nil {
		return driver.Grant{}, err
	}
	g := r.Grant()
	g.TTL, g.Sent, g.Contended = min(r.TTL, s.maxLease()), sent, i < len(q)-1
	var err error
	if g.Token, g.LastToken, err = tokens(q[i].written, r.Tokens); err != nil {
		return driver.Grant{}, err
	}
	if !b.table.setHeld(tk, s, &g) {
		return driver.Grant{}, errGivenUp // the call that gave up the ticket deletes the place
	}
	return g, nil
}

func (b *Backend) creation(tk *ticket, path string, try bool, newest int64) creation {
	return creation{path: path, dir: b.dir(tk.id.key), value: valueOf(tk.sharing, tk.id.owner), try: try, newest: newest}
}

// creation is what a transaction needs to create a place.
type creation struct {
	path   string
	dir    string // what the names of all places of the key begin with
	value  string
	try    bool  // create it only if there is no place that is newer than newest
	newest int64 // a revision
}

func (s *session) compare(fence int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(s.path), "=", fence)
}

func (c *creation) compare() clientv3.Cmp {
	if c.try {
		return clientv3.Compare(clientv3.CreateRevision(c.dir), "<", c.newest+1).WithPrefix()
	}
	return clientv3.Compare(clientv3.CreateRevision(c.path), "=", 0)
}

func (c *creation) put(s *session) clientv3.Op {
	return clientv3.OpPut(c.path, c.value, clientv3.WithLease(s.id))
}

func (c *creation) read() clientv3.Op { return clientv3.OpGet(c.dir, clientv3.WithPrefix()) }

// place returns the place that was created.
func (c *creation) place(revision int64) place {
	sharing, owner := parseValue(c.value)
	return place{path: c.path, owner: owner, sharing: sharing, created: revision, written: revision}
}

// create creates a place, unless it exists or another place is in the way. It returns the
// queue and its revision. After a creation with try, the queue has the new place alone. It
// fails with errFence if it has created nothing because the fence was written: the session
// then knows the new fence, or has ended.
func (b *Backend) create(ctx context.Context, s *session, fence int64, c creation) (queue, int64, error) {
	then := []clientv3.Op{c.put(s)}
	if !c.try {
		then = append(then, c.read())
	}
	op := clientv3.OpTxn([]clientv3.Cmp{s.compare(fence), c.compare()}, then, []clientv3.Op{clientv3.OpGet(s.path), c.read()})
	resp, err := b.batcher.do(ctx, op, c.path, c.dir)
	if err != nil {
		return nil, 0, err
	}
	if resp.txn.Succeeded && c.try {
		return queue{c.place(resp.revision)}, resp.revision, nil
	}
	q := parseQueue(resp.txn.Responses[1].GetResponseRange().Kvs, b.opts.prefix)
	if !resp.txn.Succeeded && !s.learn(resp.txn.Responses[0].GetResponseRange(), fence) && q.find(c.path) < 0 {
		return nil, 0, errFence
	}
	return q, resp.revision, nil
}
