package zklock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/driver"
)

var (
	_ driver.Backend   = (*Backend)(nil)
	_ driver.Queuer    = (*Backend)(nil)
	_ driver.Extender  = (*Backend)(nil)
	_ driver.Inspector = (*Backend)(nil)
	_ driver.Revoker   = (*Backend)(nil)
	_ driver.Pinger    = (*Backend)(nil)
)

// Backend keeps locks in ZooKeeper. It is safe for concurrent use. Make one for each
// Locker, with [New]: a Backend has one session with the servers, and when the session
// ends all its locks end.
type Backend struct {
	opts       options
	link       *link
	table      *table
	nodes      *nodes
	watches    *watches
	background *background
	trial      trial
}

// New returns a Backend that keeps locks on the servers of one ensemble. Each server is
// a host and a port. New begins to connect. It does not wait for the connection: if no
// server can be reached, the calls fail. The names are looked up again for each connection:
// a server may move, and a name may be unknown at first. New fails if an option is invalid.
func New(servers []string, opts ...Option) (*Backend, error) {
	if len(servers) == 0 {
		return nil, errors.New("zklock: no servers")
	}
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	b := &Backend{opts: o, background: newBackground()}
	if b.link, err = newLink(b.background.ctx, servers, &b.opts); err != nil {
		return nil, err
	}
	b.watches = newWatches(b.link)
	b.nodes = &nodes{
		opts: &b.opts, link: b.link, background: b.background,
		parents: &parents{opts: &b.opts}, deleting: make(map[string]bool),
	}
	b.table = newTable(b.nodes.deleteInBackground)
	b.background.run(func() { b.table.run(b.background.ctx) })
	return b, nil
}

// Close ends the session, which releases all locks and all places in queues. If no
// server can be reached, they end with the session's timeout instead. Close takes a few
// seconds at most and returns nil. Calls that wait return an error. Calling Close again
// does nothing.
func (b *Backend) Close() error {
	if b.background.stop(errClosed) {
		b.link.close()
		b.background.wait()
	}
	return nil
}

// Ping implements [driver.Pinger]. It returns nil if there is a session and the leader
// answers. Until that was successful once, it also creates, reads, writes and deletes a node
// below the root, with the ACL of the locks: the error names the permission that is missing.
// With [WithPath] a user that may create no nodes below the root is not tested.
func (b *Backend) Ping(ctx context.Context) error {
	op, end := b.link.opContext(ctx)
	defer end()
	if err := b.link.confirm(op); err != nil || b.trial.passed.Load() {
		return err
	}
	created, err := b.trial.begin(b.nodes).wait(op)
	if !created && b.opts.path != nil && errors.Is(err, zk.ErrNoAuth) {
		return nil
	}
	return err
}

// Features implements [driver.Backend]. The requests for a key wait in one queue,
// whatever they ask for. A reader does not overtake a writer that waits. Adjacent readers
// at the head of the queue have the key together, and so do adjacent requests for
// permits.
func (b *Backend) Features() driver.Features { return driver.Features{Sharing: true} }

// path returns the path of the key's node.
func (b *Backend) path(key string) (string, error) {
	if b.opts.path == nil {
		return b.opts.root + "/" + EscapeKey(key), nil
	}
	path := b.opts.root + "/" + b.opts.path(key)
	if err := checkPath(path); err != nil {
		return "", fmt.Errorf("zklock: WithPath: %w", err)
	}
	return path, nil
}

// ticket returns the ticket of the request's owner. If the owner has none, it makes one.
// The ticket of a queued request is kept while another owner has the key.
func (b *Backend) ticket(ctx context.Context, r *driver.Request, queued bool) (*ticket, error) {
	if err := checkRequest(r); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err // nothing was sent
	}
	parent, err := b.path(r.Key)
	if err != nil {
		return nil, err
	}
	id := ticketID{r.Key, r.Owner}
	// If this process has the key, one read is cheaper than a node that is created and
	// deleted again, which are two writes.
	if !queued && b.table.heldByOther(id) {
		if err := b.peek(ctx, r, parent); err != nil {
			return nil, err
		}
	}
	k := b.opts.kindOf(r.Sharing())
	tk := b.table.getOrAdd(id, queued, func() *ticket {
		return &ticket{
			id: id, parent: parent, guid: guidOf(r.Owner), kind: k,
			busy: make(chan struct{}, 1), gone: make(chan struct{}),
		}
	})
	switch {
	case tk == nil:
		return nil, errReleased
	case tk.kind != k:
		return nil, fmt.Errorf("zklock: the owner has asked for %s before", tk.kind.tag)
	}
	return tk, nil
}

// peek returns a HeldError if the first in the queue does not share the key with r. It
// asks the leader: another process may have deleted nodes through another server.
func (b *Backend) peek(ctx context.Context, r *driver.Request, parent string) error {
	op, end := b.link.opContext(ctx)
	defer end()
	q, err := b.queue(op, parent)
	if err != nil {
		return err
	}
	if len(q) > 0 && !q[0].kind.sharing.Admits(1, r.Sharing()) {
		return b.heldError(op, r.Key, obstacle{first: parent + "/" + q[0].name})
	}
	return nil
}

// queue returns the queue below parent as the leader knows it.
func (b *Backend) queue(ctx context.Context, parent string) (queue, error) {
	if err := b.link.confirm(ctx); err != nil {
		return nil, err
	}
	names, err := b.link.children(parent).wait(ctx)
	if err != nil {
		return nil, err
	}
	return parseQueue(names)
}

// stranger returns a child of a key's node beside which a node of kind k must not be: one
// that does not see it, or an ephemeral node of another program, which is a lock with a rule
// that is not known. The children have the names, of which q is the queue.
func (b *Backend) stranger(ctx context.Context, parent string, names []string, q queue, k kind) (*stranger, error) {
	if s := findStranger(names, q, k); s != nil {
		return s, nil
	}
	var others []string
	var stats []*pending[zk.Stat]
	for _, name := range names {
		if _, ok := parseNode(name); !ok {
			others, stats = append(others, name), append(stats, b.link.stat(parent+"/"+name))
		}
	}
	for i, name := range others {
		stat, err := stats[i].wait(ctx)
		switch {
		case err != nil:
			return nil, err
		case isEphemeral(&stat):
			return newStranger(name, "the %s %q of another program, which may not see other locks", ephemeralNode, name), nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// isEphemeral reports whether a node ends with a session. The server has the kinds of other
// nodes in the same field: containers, and nodes with a TTL, whose first byte is 0xff.
func isEphemeral(stat *zk.Stat) bool {
	owner := stat.EphemeralOwner
	return owner != 0 && owner != math.MinInt64 && uint64(owner)>>56 != 0xff
}

// lose gives up the ticket of an owner that has lost the key.
func (b *Backend) lose(tk *ticket) {
	if b.table.remove(tk) {
		b.nodes.deleteInBackground(tk)
	}
}

func checkRequest(r *driver.Request) error {
	switch {
	case r.TTL < time.Millisecond:
		return fmt.Errorf("zklock: a TTL of %v is less than a millisecond", r.TTL)
	case r.Permits < 0, r.Permits > 0 && r.Mode != driver.Exclusive,
		r.Mode != driver.Exclusive && r.Mode != driver.Shared:
		return fmt.Errorf("zklock: mode %v with %d permits makes no sense", r.Mode, r.Permits)
	case r.Key == "", r.Owner == "":
		return fmt.Errorf("zklock: key %q or owner %q is empty", r.Key, r.Owner)
	}
	return nil
}
