package zklock

import (
	"context"
	"errors"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/backend/internal/recent"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
)

var (
	_ driver.Backend   = (*backend)(nil)
	_ driver.Queuer    = (*backend)(nil)
	_ driver.Extender  = (*backend)(nil)
	_ driver.Inspector = (*backend)(nil)
	_ driver.Revoker   = (*backend)(nil)
	_ driver.Pinger    = (*backend)(nil)
)

// backend is the Backend that New returns.
type backend struct {
	config     Config
	link       *link
	table      placequeue.Table[*ticket, *session]
	watches    *watches
	background *background.Work
	trial      trial

	// refused is set for keys for which a try was refused last.
	refused recent.Marks
}

// New returns a Backend that keeps locks on the servers of one ensemble. Each server is
// a host and a port. Make a Backend for each Locker: it has one session with the
// servers, and when the session ends all its locks end. New fails if a field of the
// Config is invalid.
//
// New begins to connect. It does not wait for the connection: if no server can be
// reached, the calls fail. The names are looked up again for each connection: a server
// may move, and a name may be unknown at first.
//
// Close ends the session, which releases all locks and all places in queues. If no
// server can be reached, they end with the session's timeout instead. Close takes a few
// seconds at most and returns nil.
func New(servers []string, config Config) (driver.Backend, error) {
	if len(servers) == 0 {
		return nil, errors.New("zklock: no servers")
	}
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &backend{config: config, background: background.New()}
	if b.link, err = newLink(b.background, servers, &b.config); err != nil {
		return nil, err
	}
	b.watches = &watches{link: b.link, byPath: make(map[string]*watch)}
	b.table.Init(b.link.opContext, b.deleteInBackground)
	return b, nil
}

func (b *backend) Close() error {
	if b.background.Close(errClosed) {
		b.link.close()
		b.table.StopTimers()
		b.background.Wait()
	}
	return nil
}

// Ping implements [driver.Pinger]. It asks the leader, and makes the trial until that
// was successful once.
func (b *backend) Ping(ctx context.Context) error {
	op, end := b.link.opContext(ctx)
	defer end()
	if err := b.link.confirm(op); err != nil {
		return err
	}
	return b.trial.run(op, b.link)
}

func (b *backend) Features() driver.Features { return driver.Features{Sharing: true} }

func (b *backend) path(key string) string { return b.config.Root + "/" + EscapeKey(key) }

func (b *backend) ticket(ctx context.Context, r *driver.Request, queued bool) (*ticket, error) {
	return b.table.GetOrAdd(ctx, r, queued, func(tk placequeue.Ticket[*session]) *ticket {
		return &ticket{Ticket: tk, parent: b.path(r.Key), guid: guidOf(r.Owner), kind: b.config.kindOf(r.Sharing()), busy: make(chan struct{}, 1)}
	})
}

// queue returns the queue below parent as the leader knows it.
func (b *backend) queue(ctx context.Context, parent string) (queue, error) {
	if err := b.link.confirm(ctx); err != nil {
		return nil, err
	}
	return b.link.queue(ctx, parent)
}

// Release implements [driver.Backend]. It deletes the owner's node, in one round trip.
// Without an answer it continues in the background until the node or the session is
// gone. To repeat it is then no error, for a bounded number of past releases.
func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	op, end := b.link.opContext(ctx)
	defer end()
	return b.table.Release(&g,
		func(tk *ticket) (existed bool, err error) { return b.delete(op, tk) },
		func() (found bool, queued int, err error) { return b.deleteAll(op, &g) })
}

// deleteAll deletes the nodes of g's owner that it finds in the queue.
func (b *backend) deleteAll(ctx context.Context, g *driver.Grant) (found bool, queued int, err error) {
	parent := b.path(g.Key)
	q, err := b.queue(ctx, parent)
	if err != nil {
		return false, 0, err
	}
	found, err = placequeue.Each(q, func(n node) (bool, error) {
		if n.guid != guidOf(g.Owner) {
			return false, nil
		}
		_, err := b.link.remove(parent + "/" + n.name).wait(ctx)
		return true, err
	})
	return found, len(q), err
}
