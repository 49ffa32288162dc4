package zklock

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// held is a lock that an owner has, with the session of its node.
type held = placequeue.Held[*ticket, *session]

// maxRenewals is how many nodes one call of Renew reads at the same time.
const maxRenewals = 256

// Renew implements [driver.Backend]. It makes sure that the leader answers, in one round
// trip, and then that each node exists and belongs to the session, all at the same time. It also
// reads the queues: a lock that does not see the node, of another recipe of Curator, ends
// the lease, and the result's error wraps [driver.ErrForeign].
//
// A renewal may make a lease longer than the session's timeout allows, for MinHold: the
// lease then lasts as long as the process, and only as long as the session if the process
// dies.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	type renewal struct {
		index int
		lock  held
	}
	var renewals []renewal
	for i := range grants {
		lock, ok := b.table.HeldBy(placequeue.ID{Key: grants[i].Key, Owner: grants[i].Owner})
		switch {
		case !ok:
			report(i, driver.RenewResult{Status: driver.Lost})
		case lock.Store.hasEnded():
			b.lose(lock.Ticket)
			report(i, driver.RenewResult{Status: driver.Lost})
		default:
			renewals = append(renewals, renewal{i, lock})
		}
	}
	if len(renewals) == 0 {
		return
	}
	op, end := b.link.opContext(ctx)
	defer end()
	sent := time.Now()
	err := b.link.confirm(op)
	jobs := make(chan renewal)
	var workers sync.WaitGroup
	for range min(len(renewals), maxRenewals) {
		workers.Go(func() {
			for r := range jobs {
				report(r.index, b.renew(op, r.lock, &grants[r.index], sent, err))
			}
		})
	}
	for _, r := range renewals {
		jobs <- r
	}
	close(jobs)
	workers.Wait()
}

// renew renews one lock. The error says why the leader has not answered, if it has not.
func (b *Backend) renew(ctx context.Context, lock held, asked *driver.Grant, sent time.Time, err error) driver.RenewResult {
	lost := driver.RenewResult{Status: driver.Lost}
	var stat zk.Stat
	var names []string
	if err == nil {
		node, children := b.link.stat(lock.Place), b.link.children(lock.Ticket.parent)
		if stat, err = node.wait(ctx); err == nil {
			names, err = children.wait(ctx)
		}
	}
	var other *stranger
	if err == nil {
		q, _ := parseQueue(names) // a holder need not know its place
		other, err = b.stranger(ctx, lock.Ticket.parent, names, q, lock.Ticket.kind)
	}
	switch {
	case err != nil:
	case stat.EphemeralOwner != lock.Store.id:
		b.lose(lock.Ticket)
		return lost
	case other != nil:
		b.lose(lock.Ticket)
		lost.Err = other.err
		return lost
	case b.link.session() != lock.Store:
		err = b.link.explain(errNoSession)
	default:
		g := lock.Grant
		g.Sent, g.TTL, g.Retain = sent, asked.TTL, asked.Retain
		if b.table.Extend(lock.Ticket, g) {
			return driver.RenewResult{Status: driver.Renewed}
		}
		return lost
	}
	if lock.Store.hasEnded() { // and its nodes with it, whatever the answer was
		b.lose(lock.Ticket)
		return lost
	}
	return driver.RenewResult{Err: err}
}
