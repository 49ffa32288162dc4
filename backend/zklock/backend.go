package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var (
	_ driver.Backend   = (*Backend)(nil)
	_ driver.Queuer    = (*Backend)(nil)
	_ driver.Extender  = (*Backend)(nil)
	_ driver.Inspector = (*Backend)(nil)
	_ driver.Pinger    = (*Backend)(nil)
)

// Backend keeps locks in ZooKeeper. It is safe for concurrent use. Make one for
// each Locker, with [New]: it is a session with the servers, and when the session
// ends all its locks do.
type Backend struct {
	opts    options
	link    *link
	table   *table
	watches *watches
	parents *parents

	ctx    context.Context //nolint:containedctx // that of what goes on in the background
	cancel context.CancelCauseFunc

	mu         sync.Mutex
	closed     bool
	background sync.WaitGroup
}

// New returns a Backend that keeps locks on the servers, each a host and a port,
// of one ensemble. It resolves the names and begins to connect, and does not wait
// for that: what cannot be reached fails in the calls.
func New(servers []string, opts ...Option) (*Backend, error) {
	if len(servers) == 0 {
		return nil, errors.New("zklock: no servers")
	}
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	b := &Backend{opts: o}
	if b.link, err = newLink(servers, &b.opts); err != nil {
		return nil, err
	}
	b.ctx, b.cancel = context.WithCancelCause(context.Background()) //nolint:forbidigo // belongs to no call: ended by Close
	b.watches = newWatches(b.link)
	b.parents = &parents{link: b.link, opts: &b.opts}
	b.table = newTable(b.expire)
	b.goOn(func() { b.table.run(b.ctx) })
	return b, nil
}

// Close ends the session, which gives up all locks and places at once, unless the
// server cannot be reached: then they end with the session's timeout. It takes a
// few seconds at most, and returns nil. Whoever waits gets an error. Calling Close
// again does nothing.
func (b *Backend) Close() error {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	if !closed {
		b.cancel(errClosed)
		b.link.close()
		b.background.Wait()
	}
	return nil
}

// goOn runs f in the background, unless the Backend is closed: then nothing is left
// to be done, because the session has ended.
func (b *Backend) goOn(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.background.Go(f)
	}
}

// Ping implements [driver.Pinger]. It returns nil if there is a session and the
// leader answers.
func (b *Backend) Ping(ctx context.Context) error {
	op, end := b.bound(ctx)
	defer end()
	if _, err := b.link.ready(op); err != nil {
		return err
	}
	_, err := b.link.sync().wait(op)
	return err
}

// Features implements [driver.Backend]. All requests wait in one queue, whatever they
// ask for: a reader does not overtake a writer that waits, and readers who
// stand at the head one behind the other have the key together. So do those who
// ask for permits.
func (b *Backend) Features() driver.Features { return driver.Features{Sharing: true} }

// node returns the path of the node that stands for key.
func (b *Backend) node(key string) (string, error) {
	if b.opts.path == nil {
		return b.opts.root + "/" + EscapeKey(key), nil
	}
	path := b.opts.root + "/" + b.opts.path(key)
	if err := checkPath(path); err != nil {
		return "", fmt.Errorf("zklock: WithPath: %w", err)
	}
	return path, nil
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
