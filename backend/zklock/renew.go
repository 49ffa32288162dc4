package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// maxRenewals is how many nodes one call of Renew reads at the same time.
const maxRenewals = 256

// Renew implements [driver.Backend]. It makes sure that the leader answers, in one
// round trip, and then that each node exists and belongs to the session, all at the
// same time. It also reads the queues: a lock that does not see the node ends the
// lease.
//
// A renewal may make a lease longer than the session's timeout allows: the lease then
// lasts as long as the process, and only as long as the session if the process dies.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	renewals := b.table.Renewals(grants, report)
	if len(renewals) == 0 {
		return
	}
	op, end := b.link.opContext(ctx)
	defer end()
	sent := time.Now()
	err := b.link.confirm(op)
	for chunk := range slices.Chunk(renewals, maxRenewals) {
		var reads sync.WaitGroup
		for _, r := range chunk {
			reads.Go(func() { report(r.Index, b.renew(op, &r, sent, err)) })
		}
		reads.Wait()
	}
}

// renew renews one lock. The error says why the leader has not answered, if it has not.
func (b *backend) renew(ctx context.Context, r *renewal, sent time.Time, err error) error {
	if r.Asked.Retain {
		kept := false
		if err == nil {
			kept, err = b.keep(ctx, r)
		}
		return b.table.Renewed(r, sent, kept, err)
	}
	var stat zk.Stat
	var names []string
	if err == nil {
		node, children := b.link.stat(r.Place), b.link.children(r.Ticket.parent)
		if stat, err = node.wait(ctx); err == nil {
			names, err = children.wait(ctx)
		}
	}
	exists := stat.Czxid != 0 && stat.EphemeralOwner == r.Ticket.ephemeralOwner(r.Store)
	if err == nil && exists {
		q, _ := parseQueue(names) // a holder need not know its place
		other, failed := b.stranger(ctx, r.Ticket.parent, names, q, r.Ticket.kind)
		switch {
		case failed != nil:
			err = failed
		case other != nil:
			b.table.Lose(r.Ticket, false)
			return fmt.Errorf("%w: %w", driver.ErrLost, other.err)
		}
	}
	return b.table.Renewed(r, sent, exists, err)
}

// errAsked is the error of Extend if the owner was asked to give the key back.
var errAsked = fmt.Errorf("zklock: the owner was asked to give the key back: %w", driver.ErrNotAcquired)

// Extend implements [driver.Extender]. If no other owner is in the queue, it writes to
// the owner's node and makes tokens of that transaction's ID. Every owner that comes
// later has a node that was created later. Extend takes three round trips, and one if
// others wait. If anything else has written to the node, as Revoke does, it changes
// nothing.
func (b *backend) Extend(ctx context.Context, g driver.Grant, n int) (driver.Grant, error) {
	lock, err := b.table.Extendable(&g)
	if err != nil {
		return driver.Grant{}, err
	}
	op, end := b.link.opContext(ctx)
	defer end()
	s, err := b.link.ready(op)
	if err != nil {
		return driver.Grant{}, err
	}
	if s != lock.Store {
		return driver.Grant{}, placequeue.ErrNotHeld
	}
	if err := b.checkAlone(op, lock.Ticket); err != nil {
		return driver.Grant{}, err
	}
	sent := time.Now()
	stat, err := b.link.set(lock.Place, lock.Ticket.data(), lock.Ticket.version.Load()).wait(op)
	switch {
	case errors.Is(err, zk.ErrBadVersion):
		return driver.Grant{}, errAsked
	case errors.Is(err, zk.ErrNoNode), err == nil && stat.EphemeralOwner != lock.Ticket.ephemeralOwner(lock.Store):
		b.table.Lose(lock.Ticket, false)
		return driver.Grant{}, placequeue.ErrNotHeld
	case err != nil:
		return driver.Grant{}, err
	}
	lock.Ticket.version.Store(stat.Version)
	// An owner that came before the write has smaller tokens.
	if err := b.checkAlone(op, lock.Ticket); err != nil {
		return driver.Grant{}, err
	}
	extended := lock.Grant
	extended.Sent, extended.TTL, extended.Contended = sent, g.TTL, false
	extended.Token, extended.LastToken = placequeue.Tokens(stat.Mzxid, tokensPerID, n)
	if !b.table.Extend(lock.Ticket, extended) {
		return driver.Grant{}, placequeue.ErrNotHeld
	}
	return extended, nil
}

// checkAlone returns an error if an owner other than tk's is in the queue.
func (b *backend) checkAlone(ctx context.Context, tk *ticket) error {
	q, err := b.link.queue(ctx, tk.parent)
	if err == nil && slices.ContainsFunc(q, func(n node) bool { return n.guid != tk.guid || n.kept }) {
		return placequeue.ErrOthersWait
	}
	return err
}
