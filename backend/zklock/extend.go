package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/driver"
)

var (
	errProlong = fmt.Errorf("zklock: only exclusive locks are handed on: %w", driver.ErrNotAcquired)
	errOthers  = fmt.Errorf("zklock: others wait: %w", driver.ErrNotAcquired)
	errNotHeld = fmt.Errorf("zklock: the owner does not have the key: %w", driver.ErrLost)
)

// Prolong extends g and mints further tokens if nobody else stands in line: it
// writes to the owner's node, and makes tokens of the transaction that did. Whoever
// comes later has a node that was created later. It takes three round trips, and
// one if others wait. Only exclusive locks are handed on: for others the error
// wraps [driver.ErrNotAcquired], too.
func (b *Backend) Extend(ctx context.Context, g driver.Grant, n int) (driver.Grant, error) {
	if g.Mode != driver.Exclusive || g.Permits > 0 {
		return driver.Grant{}, errProlong
	}
	h, ok := b.table.holding(claim{g.Key, g.Owner})
	if !ok {
		return driver.Grant{}, errNotHeld
	}
	op, end := b.bound(ctx)
	defer end()
	s, err := b.link.ready(op)
	if err != nil {
		return driver.Grant{}, err
	}
	if s != h.of {
		b.giveUp(h.place)
		return driver.Grant{}, errNotHeld
	}
	if err := b.alone(op, h.place); err != nil {
		return driver.Grant{}, err
	}
	sent := time.Now()
	stat, err := begin(b.link, func(c *zk.Conn) (zk.Stat, error) {
		stat, err := c.Set(h.path, h.place.data(), -1)
		if err != nil {
			return zk.Stat{}, err
		}
		return *stat, nil
	}).wait(op)
	switch {
	case errors.Is(err, zk.ErrNoNode), err == nil && stat.EphemeralOwner != h.of.id:
		b.giveUp(h.place)
		return driver.Grant{}, errNotHeld
	case err != nil:
		return driver.Grant{}, err
	}
	// Somebody may have come before the write, and has smaller tokens then.
	if err := b.alone(op, h.place); err != nil {
		return driver.Grant{}, err
	}
	more := h.grant
	more.Sent, more.TTL, more.Contended = sent, g.TTL, false
	if more.Token, more.LastToken, err = tokens(stat.Mzxid, n); err != nil {
		return driver.Grant{}, err
	}
	if !b.table.extend(h.place, more) {
		return driver.Grant{}, errNotHeld
	}
	return more, nil
}

// alone returns an error if others than p are in its line.
func (b *Backend) alone(ctx context.Context, p *place) error {
	names, err := b.link.children(p.parent).wait(ctx)
	if err != nil {
		return err
	}
	l, err := parseLine(names)
	if err != nil {
		return err
	}
	for _, n := range l {
		if n.guid != p.guid {
			return errOthers
		}
	}
	return nil
}
