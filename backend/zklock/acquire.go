package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

var (
	errHeld     = fmt.Errorf("zklock: it is not the owner's turn: %w", driver.ErrNotAcquired) // callers get a HeldError
	errGivenUp  = fmt.Errorf("%w: released while waiting", driver.ErrNotAcquired)
	errReleased = errors.New("zklock: the owner has released the key: take another one")
)

// TryAcquire makes one attempt. It stands in line as everybody else does, and
// leaves the line at once if it is not its turn: two round trips if it gets the
// key, four if not. It fails with a [*driver.HeldError] then, which names the first
// in line; of a holder in another process it counts Held from when that joined the
// line.
//
// The grant's TTL is shorter than was asked for if the session's timeout does not
// carry it.
func (b *Backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	p, err := b.enter(ctx, &r, false)
	if err != nil {
		return driver.Grant{}, err
	}
	op, end := b.bound(ctx)
	defer end()
	g, wait, err := b.attempt(op, p, &r)
	if wait.own != "" {
		err = b.held(op, r.Key, wait)
	}
	if errors.Is(err, driver.ErrNotAcquired) && b.table.removeUnqueued(p) {
		_, _ = b.leave(op, p) // goes on in the background if need be
	}
	return g, err
}

// Acquire stands in line for the key and waits for its turn, watching those nodes
// only because of which it has to wait. Besides it looks again when r.Backoff says
// so. If the session is lost meanwhile, it stands in line again in the next one.
// An r.Backoff of nil means [distlock.DefaultRetryInterval] and no limit.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	p, err := b.enter(ctx, &r, true)
	if err != nil {
		return driver.Grant{}, err
	}
	w := waiter{backoff: r.Backoff}
	if w.backoff == nil {
		w.backoff = driver.NewBackoff(distlock.DefaultRetryInterval, 0)
	}
	defer w.stop()
	for {
		op, end := b.bound(ctx)
		g, wait, err := b.attempt(op, p, &r)
		end()
		for held := true; held; held = w.rung && b.still(ctx, p, wait) {
			if len(wait.on) == 0 { // it has the key, or an error
				return g, b.ended(ctx, p, &w, err)
			}
			w.last, w.why = wait, err
			if err := w.sleep(ctx, b, p, wait); err != nil {
				return driver.Grant{}, b.ended(ctx, p, &w, err)
			}
		}
	}
}

// ended returns the error of Acquire after err. If ctx or the budget ended the wait, the
// error also names the holder.
func (b *Backend) ended(ctx context.Context, p *place, w *waiter, err error) error {
	switch {
	case err == nil, errors.Is(err, errGivenUp):
		return err
	case errors.Is(err, errSpent):
		return b.refusal(ctx, p, w)
	case ctx.Err() == nil:
		return err
	}
	if err = b.link.cause(ctx); !errors.Is(err, ctx.Err()) || w.why == nil {
		return err
	}
	return fmt.Errorf("%w: %w", b.refusal(ctx, p, w), ctx.Err())
}

// refusal returns why a waiter did not get the key.
func (b *Backend) refusal(ctx context.Context, p *place, w *waiter) error {
	if errors.Is(w.why, driver.ErrForeign) {
		return w.why
	}
	return b.heldNow(ctx, p, w.last)
}

// enter checks r and returns its owner's place. Who waits keeps it also if the
// key is held.
func (b *Backend) enter(ctx context.Context, r *driver.Request, waits bool) (*place, error) {
	if err := checkRequest(r); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err // nothing was sent
	}
	parent, err := b.node(r.Key)
	if err != nil {
		return nil, err
	}
	c, k := claim{r.Key, r.Owner}, b.opts.kindOf(r.Mode, r.Permits)
	// If one of ours has the key, a look is cheaper than to stand in line and leave
	// it again, which are two writes.
	if !waits && b.table.heldByOther(c) {
		if err := b.glance(ctx, r.Key, parent); err != nil {
			return nil, err
		}
	}
	p := b.table.enter(c, waits, func() *place {
		return &place{
			claim: c, parent: parent, guid: guidOf(r.Owner), kind: k,
			turn: make(chan struct{}, 1), gone: make(chan struct{}),
		}
	})
	switch {
	case p == nil:
		return nil, errReleased
	case p.kind != k:
		return nil, fmt.Errorf("zklock: the owner has asked for %s before", p.kind.tag)
	}
	return p, nil
}

// glance returns a HeldError if an exclusive lock is at the head of the line, as the
// leader knows it: others may have deleted it through another server.
func (b *Backend) glance(ctx context.Context, key, parent string) error {
	op, end := b.bound(ctx)
	defer end()
	l, err := b.line(op, parent)
	if err != nil {
		return err
	}
	if len(l) > 0 && !l[0].kind.shared && l[0].kind.permits == 0 {
		return b.held(op, key, waiting{first: parent + "/" + l[0].name})
	}
	return nil
}

// waiting is what one in line has to wait for.
type waiting struct {
	session *session
	on      []string  // the paths of nodes
	own     string    // the path of its own node; "" if there can be none
	made    time.Time // when that node was requested
	first   string    // the path of the first in line
}

// attempt stands in line with p, unless it does already, and looks whether it is
// its turn. If not, the error is errHeld, or errEphemeral, and what to wait for comes
// with it.
func (b *Backend) attempt(ctx context.Context, p *place, r *driver.Request) (driver.Grant, waiting, error) {
	if !p.take(ctx) {
		return driver.Grant{}, waiting{}, b.link.cause(ctx)
	}
	late := false // somebody else puts back the turn
	defer func() {
		if !late {
			p.put()
		}
	}()
	for ctx.Err() == nil {
		if p.isGone() {
			return driver.Grant{}, waiting{}, errGivenUp
		}
		s, err := b.link.ready(ctx)
		if err != nil {
			return driver.Grant{}, waiting{}, err
		}
		sent := time.Now()
		if p.node != "" && p.session != s {
			p.node, p.doubt = "", false // it went with its session
			b.table.lost(p)
		}
		if err := b.find(ctx, p, s); err != nil {
			return driver.Grant{}, waiting{}, err
		}
		var born int64 // the ID of the transaction that made the node just now
		if p.node == "" {
			made := b.create(ctx, p, s)
			birth, err := made.wait(ctx)
			if err != nil {
				select {
				case <-made.done:
				default: // it has the turn now
					late = true
					go b.abandon(p, made)
				}
				if errors.Is(err, errEphemeral) {
					return driver.Grant{}, waiting{session: s, on: []string{p.parent}}, err
				}
				return driver.Grant{}, waiting{}, err
			}
			sent, born = birth.sent, birth.zxid
		} else if _, err := b.link.sync().wait(ctx); err != nil {
			return driver.Grant{}, waiting{}, err
		}
		v, err := b.look(ctx, p, born)
		if err != nil {
			return driver.Grant{}, waiting{}, err
		}
		switch {
		case !v.mine:
			// Deleted; or made in a session that began between the look at the
			// session and the request, and then it has to be found again.
			p.node, p.doubt = "", true
			b.table.lost(p)
		case len(v.own) > 0: // nobody shall wait for itself
			for _, path := range v.own {
				if _, err := b.link.remove(path).wait(ctx); err != nil {
					return driver.Grant{}, waiting{}, err
				}
			}
		case len(v.blockers) > 0:
			return driver.Grant{}, waiting{s, v.blockers, p.node, p.made, v.first}, errHeld
		default:
			g, err := b.granted(p, r, s, &v, sent)
			return g, waiting{}, err
		}
	}
	return driver.Grant{}, waiting{}, b.link.cause(ctx)
}

// granted records that it is p's turn.
func (b *Backend) granted(p *place, r *driver.Request, s *session, v *view, sent time.Time) (driver.Grant, error) {
	g := r.Grant()
	g.TTL = min(r.TTL, s.maxLease())
	g.Sent, g.Contended = sent, v.contended
	var err error
	if g.Token, g.LastToken, err = tokens(v.czxid, r.Tokens); err != nil {
		return driver.Grant{}, err
	}
	if had, ok := b.table.holding(p.claim); ok {
		g.Token, g.LastToken = had.grant.Token, had.grant.LastToken
	}
	if !b.table.hold(p, s, g) {
		return driver.Grant{}, errGivenUp // and whoever did that deletes the node
	}
	return g, nil
}

// view is what the server shows of a place.
type view struct {
	mine      bool     // the node is there, and belongs to our session
	blockers  []string // paths of those it has to wait for
	own       []string // those among them that are the owner's: orphans
	first     string   // path of the first in line
	contended bool     // others stand behind it
	czxid     int64    // the transaction that made the node
}

// look looks at the line of p, and at its node, unless that was born just now: then
// the answer to that was as good.
func (b *Backend) look(ctx context.Context, p *place, born int64) (view, error) {
	kids := b.link.children(p.parent)
	var stat zk.Stat
	var err error
	if born == 0 {
		stat, err = b.link.stat(p.node).wait(ctx)
	} else {
		stat.Czxid, stat.EphemeralOwner = born, p.session.id
	}
	if err != nil {
		return view{}, err
	}
	names, err := kids.wait(ctx)
	if err != nil {
		return view{}, err
	}
	l, err := parseLine(names)
	if err != nil {
		return view{}, err
	}
	i := l.find(p.node[len(p.parent)+1:])
	// The node of a session that has ended may be seen for a while yet, from a
	// server that lags behind. It is a dying one, and no lock.
	if i < 0 || p.session != b.link.session() || stat.EphemeralOwner != p.session.id {
		return view{}, nil
	}
	v := view{mine: true, czxid: stat.Czxid, contended: i < len(l)-1, first: p.parent + "/" + l[0].name}
	for _, n := range l.blockers(i) {
		path := p.parent + "/" + n.name
		v.blockers = append(v.blockers, path)
		if n.guid == p.guid {
			v.own = append(v.own, path)
		}
	}
	return v, nil
}
