package sqllock

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Extend implements [driver.Extender].
func (b *Backend) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	r := driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL, Mode: g.Mode, Permits: g.Permits, Tokens: tokens}
	if err := checkRequest(&r); err != nil {
		return driver.Grant{}, err
	}
	if err := b.ready(ctx); err != nil {
		return driver.Grant{}, err
	}
	var more driver.Grant
	var failure error
	sent := time.Now()
	err := b.change(ctx, forRenewal, g.Key, false, nil, func(e *entry) { more, failure = e.extend(&r) })
	if err == nil {
		err = failure
	}
	more.Sent = sent
	return more, err
}

// extend issues more tokens to the owner of r if it has the key and no other owner
// waits.
func (e *entry) extend(r *driver.Request) (driver.Grant, error) {
	m := e.find(r.Owner)
	if e.owner != r.Owner && (m == nil || !m.holds()) {
		return driver.Grant{}, fmt.Errorf("sqllock: the owner does not have the key: %w", driver.ErrLost)
	}
	if e.waiting(r.Owner) > 0 {
		return driver.Grant{}, fmt.Errorf("sqllock: others wait: %w", driver.ErrNotAcquired)
	}
	g, _ := e.acquire(r)
	return g, nil
}
