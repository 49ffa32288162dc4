package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// errAsked is the error of Extend if the owner was asked to give the key back.
var errAsked = fmt.Errorf("zklock: the owner was asked to give the key back: %w", driver.ErrNotAcquired)

// Extend implements [driver.Extender]. If no other owner is in the queue, it writes to
// the owner's node and makes tokens of that transaction's ID. Every owner that comes
// later has a node that was created later. Extend takes three round trips, and one if
// others wait. If anything else has written to the node, as Revoke does, it changes
// nothing. It extends only exclusive locks: for others the error wraps
// [driver.ErrNotAcquired].
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
	// An owner that came before the write has smaller tokens.
	if err := b.checkAlone(op, lock.Ticket); err != nil {
		return driver.Grant{}, err
	}
	extended := lock.Grant
	extended.Sent, extended.TTL, extended.Contended = sent, g.TTL, false
	extended.Token, extended.LastToken = placequeue.Tokens(stat.Mzxid, tokensPerID, n)
	lock.Ticket.version.Store(stat.Version)
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
