package zklock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

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
		case b.link.session() != r.Store:
			err = b.link.explain(errNoSession)
		}
	}
	return b.table.Renewed(r, sent, exists, err)
}
