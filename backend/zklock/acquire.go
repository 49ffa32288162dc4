package zklock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// TryAcquire implements [driver.Backend]. It joins the queue as Enqueue does and leaves
// it at once if it does not get the key, in two round trips, or three. Where it was
// refused before, it reads the queue first, and writes nothing while the key is held.
func (b *backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.acquire(ctx, &r, false)
}

// Enqueue implements [driver.Queuer]. It joins the queue. If the session was lost, it
// joins it again in the next session.
func (b *backend) Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.acquire(ctx, &r, true)
}

func (b *backend) acquire(ctx context.Context, r *driver.Request, queued bool) (driver.Grant, error) {
	tk, err := b.ticket(ctx, r, queued)
	if err != nil {
		return driver.Grant{}, err
	}
	g, err := b.table.Acquire(ctx, tk, queued, func(op context.Context) (driver.Grant, placequeue.Obstacle, error) {
		o, err := b.stillHeld(op, tk, queued)
		if o != nil || err != nil {
			return driver.Grant{}, o, err
		}
		g, o, err := b.attempt(op, tk, r)
		if errors.Is(err, zk.ErrConnectionClosed) && op.Err() == nil {
			// The server may have been the wrong one, or the connection has died without a
			// word.
			return b.attempt(op, tk, r)
		}
		return g, o, err
	})
	if !queued && errors.Is(err, driver.ErrNotAcquired) && b.table.Remove(tk, true) {
		b.refused.Of(r.Key).Store(!errors.Is(err, driver.ErrForeign)) // what is foreign may not be in the queue
		op, end := b.link.opContext(ctx)
		defer end()
		_, _ = b.delete(op, tk) // continues in the background after an error
	}
	return g, b.table.Unsent(tk, err, tk.isUnsent)
}

// stillHeld returns the obstacle of a try for a key that was refused before, if nodes of
// this package alone are in its queue and are in the way. A node that is kept may be over.
func (b *backend) stillHeld(ctx context.Context, tk *ticket, queued bool) (placequeue.Obstacle, error) {
	if queued || !b.refused.Of(tk.ID.Key).Swap(false) {
		return nil, nil //nolint:nilnil // an attempt will tell
	}
	q, err := b.queue(ctx, tk.parent)
	blockers, s := placequeue.Blockers(append(q, node{kind: tk.kind}), len(q)), b.link.session()
	if s == nil || len(blockers) == 0 || slices.ContainsFunc(q, func(n node) bool { return !n.ours || n.kept || n.guid == tk.guid }) {
		return nil, err
	}
	first, watch := tk.parent+"/"+q[0].name, []string{tk.parent + "/" + blockers[0].name}
	return &obstacle{session: s, backend: b, ticket: tk, watch: watch, first: first, seen: time.Now()}, nil
}

// Turn implements [driver.Waker]. It watches only the nodes that the owner waits for.
func (b *backend) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	return b.table.Turn(ctx, b.background, &r)
}

// attempt makes sure that tk has a node in the queue, and grants the key if it is
// the owner's turn. Otherwise it returns an obstacle.
func (b *backend) attempt(ctx context.Context, tk *ticket, r *driver.Request) (driver.Grant, placequeue.Obstacle, error) {
	if !tk.lock(ctx) {
		return driver.Grant{}, nil, b.link.cause(ctx)
	}
	defer tk.unlock()
	for ctx.Err() == nil {
		if tk.IsGone() {
			return driver.Grant{}, nil, placequeue.ErrGivenUp
		}
		s, err := b.link.ready(ctx)
		if err != nil {
			return driver.Grant{}, nil, err
		}
		if tk.node != "" && tk.session != s {
			b.forget(tk) // the node ended with its session; the server may still show it
		}
		if err := b.trial.run(ctx, b.link); err != nil {
			return driver.Grant{}, nil, err
		}
		if err := b.find(ctx, tk, s); err != nil {
			return driver.Grant{}, nil, err
		}
		var seen view
		o, sent := &obstacle{session: s, backend: b, ticket: tk}, time.Now()
		if tk.node == "" {
			if seen, err = b.create(ctx, tk, s); errors.Is(err, errEphemeral) {
				o.watch, o.foreign = []string{tk.parent}, err
				return driver.Grant{}, o, nil
			}
		} else {
			seen, err = b.look(ctx, tk)
		}
		if err != nil {
			return driver.Grant{}, nil, err
		}
		p, err := b.position(ctx, tk, seen)
		if err != nil {
			return driver.Grant{}, nil, err
		}
		o.first, o.seen = p.first, sent
		switch {
		case !p.exists:
			// The node was deleted. Or it was created in a session that began between
			// the call of ready and the request: then it must be found again.
			b.forget(tk)
		case p.stranger != nil: // it does not matter which of them is first
			tk.unwanted = append(tk.unwanted, b.forget(tk))
			tk.inDoubt = false
			if _, err := b.clean(ctx, tk); err != nil {
				return driver.Grant{}, nil, err
			}
			o.watch, o.foreign = []string{tk.parent + "/" + p.stranger.name}, p.stranger.err
			return driver.Grant{}, o, nil
		case len(p.blockers) > 0:
			now := time.UnixMilli(seen.time).Add(time.Since(tk.since)) // or later, by the servers' clock
			left, over, err := b.endKept(ctx, p.kept, now)
			if err != nil {
				return driver.Grant{}, nil, err
			}
			if !over {
				if left > 0 {
					o.until = time.Now().Add(left)
				}
				o.watch, o.others, o.own = p.blockers, p.others, tk.node
				return driver.Grant{}, o, nil
			}
		default:
			g, err := b.grant(tk, r, &p, sent)
			return g, nil, err
		}
	}
	return driver.Grant{}, nil, b.link.cause(ctx)
}

// grant records that the owner of tk has the key.
func (b *backend) grant(tk *ticket, r *driver.Request, p *position, sent time.Time) (driver.Grant, error) {
	g := r.Grant()
	b.table.TellSession(r.TTL, tk.session.timeout, "zklock.Config.SessionTimeout")
	g.TTL = min(r.TTL, tk.session.maxLease())
	g.Sent, g.Contended = sent, p.contended
	g.Token, g.LastToken = placequeue.Tokens(p.createZxid, tokensPerID, r.Tokens)
	b.table.Lock()
	defer b.table.Unlock()
	if !b.table.SetHeld(tk, tk.node, tk.session, &g) {
		return driver.Grant{}, placequeue.ErrGivenUp // the call that gave up the ticket deletes the node
	}
	return g, nil
}

// position is where a ticket's node stands in the queue.
type position struct {
	exists     bool      // the node exists and belongs to the present session
	stranger   *stranger // a node beside which it must not be
	blockers   []string  // the paths of the nodes that it waits for
	others     bool      // other programs have made some of them
	kept       []string  // the paths of nodes in front of it that do not end with a session
	first      string    // the path of the first node in the queue
	contended  bool      // other nodes are behind it
	createZxid int64     // ID of the transaction that created the node
}

func (b *backend) position(ctx context.Context, tk *ticket, seen view) (position, error) {
	q, err := parseQueue(seen.names)
	if err != nil {
		return position{}, err
	}
	i := q.find(tk.name())
	// A server that lags behind may still show the node of a session that has ended.
	// Such a node is about to be deleted and is not a lock.
	if i < 0 || tk.session != b.link.session() || seen.owner != tk.ephemeralOwner(tk.session) {
		return position{}, nil
	}
	p := position{exists: true, createZxid: seen.zxid, first: tk.parent + "/" + q[0].name, contended: i < len(q)-1}
	if p.stranger, err = b.stranger(ctx, tk.parent, seen.names, q, tk.kind); err != nil {
		return position{}, err
	}
	for _, n := range q[:i] {
		if n.kept {
			p.kept = append(p.kept, tk.parent+"/"+n.name)
		}
	}
	for _, n := range placequeue.Blockers(q, i) {
		if n.kind.tag == tagPlain && p.stranger == nil {
			p.stranger = &stranger{name: n.name}
		}
		p.blockers, p.others = append(p.blockers, tk.parent+"/"+n.name), p.others || !n.ours
	}
	return p, nil
}
