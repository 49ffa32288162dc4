package etcdlock

import (
	"context"
	"errors"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
)

// TryAcquire implements [driver.Backend]. It creates a place only if the owner then has
// the key: one request if the key is free, or if it is held by an owner that excludes
// others; two if the owner joins other holders.
func (b *backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.acquire(ctx, &r, false)
}

// Enqueue implements [driver.Queuer]. It creates a place in the queue. If the lease of
// etcd has ended, it creates a place anew.
func (b *backend) Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.acquire(ctx, &r, true)
}

func (b *backend) acquire(ctx context.Context, r *driver.Request, queued bool) (driver.Grant, error) {
	tk, err := b.ticket(ctx, r, queued)
	if err != nil {
		return driver.Grant{}, err
	}
	g, err := b.table.Acquire(ctx, tk, queued, func(op context.Context) (driver.Grant, placequeue.Obstacle, error) {
		return b.attempt(op, tk, r, !queued)
	})
	if !queued && errors.Is(err, driver.ErrNotAcquired) {
		b.table.Lose(tk, true)
	}
	return g, b.table.Unsent(tk, err, tk.isUnsent)
}

// Turn implements [driver.Waker]. It watches only the places that the owner waits for.
func (b *backend) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	return b.table.Turn(ctx, b.background, &r)
}

func (b *backend) ticket(ctx context.Context, r *driver.Request, queued bool) (*ticket, error) {
	return b.table.GetOrAdd(ctx, r, queued, func(tk placequeue.Ticket[granted]) *ticket {
		return &ticket{Ticket: tk, slot: b.table.takeSlot(r.Key)}
	})
}

// attempt grants the key if it is the owner's turn. Otherwise it returns an obstacle.
// With try, it creates a place only if the owner then has the key.
func (b *backend) attempt(ctx context.Context, tk *ticket, r *driver.Request, try bool) (driver.Grant, placequeue.Obstacle, error) {
	p := placing{try: try, blind: !try}
	for ; ctx.Err() == nil; p.blind = false {
		s, err := b.session(ctx)
		if err != nil {
			return driver.Grant{}, nil, err
		}
		sent := time.Now()
		o := &obstacle{session: s, backend: b}
		path, created, ok := b.table.begin(tk, s)
		if !ok {
			return driver.Grant{}, nil, placequeue.ErrGivenUp
		}
		p.session, p.place, p.fence = s, path, s.fence.Load()
		again := false
		if created != 0 {
			o.queue, o.revision, err = b.queue(ctx, tk.ID.Key)
		} else {
			o.queue, o.revision, again, err = b.create(ctx, tk, &p)
		}
		i := o.queue.find(path)
		if i >= 0 {
			o.own = o.queue[i]
		}
		doubt := int64(0)
		if again || created == 0 && isUnknown(err) {
			doubt = p.fence
		}
		b.table.end(tk, s, o.own.created, doubt)
		switch {
		case errors.Is(err, errFence):
		case err != nil:
			return driver.Grant{}, nil, b.explain(ctx, err)
		case i >= 0:
			o.blockers = placequeue.Blockers(o.queue, i)
			if len(o.blockers) > 0 {
				return driver.Grant{}, o, nil
			}
			if g, err := b.grant(ctx, tk, r, o, sent); !errors.Is(err, errLeaseGone) {
				return g, nil, err
			}
		case created != 0:
			b.table.setDeleted(tk, s)
		case !o.queue.admits(tk.Sharing):
			return driver.Grant{}, o, nil
		default:
			p.newest = o.revision
		}
	}
	return driver.Grant{}, nil, b.explain(ctx, ctx.Err())
}

// grant records that the owner of tk has the key, with its own place of the queue in o.
func (b *backend) grant(ctx context.Context, tk *ticket, r *driver.Request, o *obstacle, sent time.Time) (driver.Grant, error) {
	if err := o.fresh(ctx, sent); err != nil {
		return driver.Grant{}, err
	}
	b.table.TellSession(r.TTL, o.ttl, "etcdlock.Config.SessionTTL")
	g := r.Grant()
	g.TTL, g.Sent, g.Contended = min(r.TTL, o.maxLease()), sent, o.own.path != o.queue[len(o.queue)-1].path
	g.Token, g.LastToken = placequeue.Tokens(o.own.written, tokensPerRevision, r.Tokens)
	if !b.table.setHeld(tk, o.session, &g) {
		return driver.Grant{}, placequeue.ErrGivenUp // the call that gave up the ticket deletes the place
	}
	return g, nil
}

// placing is a request for a place.
type placing struct {
	*session

	place  string // its path
	fence  int64  // of the session: a request that is late creates nothing
	try    bool   // no place newer than newest may exist
	newest int64  // revision of the places that the owner shares the key with
	blind  bool   // no other place may exist: for keys that are likely free
}

// create creates a place, unless it exists or p forbids it. It returns the queue and its
// revision. After a creation with try or blind, the queue has the new place alone. It fails
// with errFence if it has created nothing because the fence was written: the session
// then knows the new fence, or has ended. With blind it also does so if there is
// another place: to ask why nothing was created makes the transaction twice as large.
func (b *backend) create(ctx context.Context, tk *ticket, p *placing) (q queue, revision int64, again bool, err error) {
	dir, value := b.dir(tk.ID.Key), valueOf(tk.Sharing, tk.ID.Owner)
	then := []clientv3.Op{clientv3.OpPut(p.place, value, clientv3.WithLease(p.id))}
	free := clientv3.Compare(clientv3.CreateRevision(dir), "<", p.newest+1).WithPrefix()
	var otherwise []clientv3.Op
	if !p.blind {
		read := clientv3.OpGet(dir, clientv3.WithPrefix())
		otherwise = []clientv3.Op{clientv3.OpGet(p.path), read}
		if !p.try {
			then = append(then, read)
			free = clientv3.Compare(clientv3.CreateRevision(p.place), "=", 0)
		}
	}
	resp, again, err := twice(ctx, b.link, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return b.client.Txn(ctx).If(p.isFenced(p.fence), free).Then(then...).Else(otherwise...).Commit()
	})
	if err != nil {
		return nil, 0, again, err
	}
	b.learnTerm(resp.Header)
	revision = resp.Header.Revision
	switch {
	case resp.Succeeded && (p.try || p.blind):
		return queue{{path: p.place, owner: tk.ID.Owner, sharing: tk.Sharing, created: revision, written: revision}}, revision, again, nil
	case p.blind:
		return nil, 0, again, errFence
	}
	q = parseQueue(resp.Responses[1].GetResponseRange().Kvs, b.config.Prefix)
	if !resp.Succeeded && !p.learn(resp.Responses[0].GetResponseRange(), p.fence) && q.find(p.place) < 0 {
		return nil, 0, again, errFence
	}
	return q, revision, again, nil
}

// obstacle is why a ticket's owner does not get the key now.
type obstacle struct {
	*session

	backend  *backend
	queue    queue
	own      place // the ticket's; zero if it has none
	blockers queue // of that place
	revision int64 // at which the queue was read
}

func (o *obstacle) Watch(ctx context.Context) <-chan struct{} {
	fired := make(chan struct{}, len(o.blockers))
	for _, p := range o.blockers {
		go func() {
			o.link.watch(clientv3.WithRequireLeader(ctx), p.path, o.revision)
			fired <- struct{}{}
		}()
	}
	return fired
}

// Remains implements [placequeue.Obstacle]. To read the whole queue costs more, unless
// the servers refuse so many operations.
func (o *obstacle) Remains(ctx context.Context) bool {
	places, b := append(slices.Clip(o.blockers), o.own), o.backend
	b.looks.Lock()
	l := b.next
	if l == nil || len(l.places)+len(places) > maxOps {
		l = &looks{answered: make(chan struct{})}
		b.next = l
		b.background.Run(func() { b.send(l) })
	}
	i := len(l.places)
	l.places = append(l.places, places...)
	b.looks.Unlock()
	select {
	case <-l.answered:
		return !slices.Contains(l.exist[i:i+len(places)], false)
	case <-ctx.Done():
	case <-b.background.Done():
	}
	return false
}

// looks are the looks of some waiters, in one request. Each waiter looks at intervals, for
// an event that was lost. Thousands in a process would send thousands of requests.
type looks struct {
	places   queue
	exist    []bool        // none without an answer
	answered chan struct{} // closed when exist is set
}

// gatherTime is how long a look waits for others.
const gatherTime = 20 * time.Millisecond

func (b *backend) send(l *looks) {
	clock.Sleep(b.background, gatherTime)
	b.looks.Lock()
	if b.next == l {
		b.next = nil
	}
	b.looks.Unlock()
	op, end := b.opContext(b.background)
	defer end()
	l.exist, _ = b.exist(op, l.places)
	close(l.answered)
}

// Err names the holder, the owner of the first place. Only the holder's process knows when
// it got the key and when its lease ends.
func (o *obstacle) Err(context.Context, bool) error {
	first := o.queue[0]
	if l, ok := o.backend.table.HeldAt(first.path); ok {
		return l.HeldError()
	}
	return &driver.HeldError{Holder: driver.HolderOf(first.owner)}
}
