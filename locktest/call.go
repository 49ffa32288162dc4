package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// call is a method of a backend, for cases that do the same with each.
type call struct {
	name    string
	need    need
	asks    bool // an owner without the key calls it, too
	extends bool // its owner has the key for the TTL of the grant afterwards
	run     func(p *process, ctx context.Context, g driver.Grant) (driver.Grant, error)
}

var renewal = call{"Renew", needsNothing, false, true, func(p *process, ctx context.Context, g driver.Grant) (driver.Grant, error) {
	g.Sent = time.Now()
	return g, renew(ctx, p, g)
}}

var calls = []call{
	{"TryAcquire", needsNothing, true, true, func(p *process, ctx context.Context, g driver.Grant) (driver.Grant, error) {
		return p.backend.TryAcquire(ctx, asked(g))
	}},
	{"Enqueue", needsQueue, true, true, func(p *process, ctx context.Context, g driver.Grant) (driver.Grant, error) {
		return p.queue.Enqueue(ctx, asked(g))
	}},
	renewal,
	{"Extend", needsExtend, false, true, func(p *process, ctx context.Context, g driver.Grant) (driver.Grant, error) {
		return p.extender.Extend(ctx, g, extended)
	}},
	{"Release", needsNothing, false, false, func(p *process, ctx context.Context, g driver.Grant) (driver.Grant, error) {
		return driver.Grant{}, p.backend.Release(ctx, g)
	}},
	{"ForceRelease", needsInspect, false, false, func(p *process, ctx context.Context, g driver.Grant) (driver.Grant, error) {
		_, err := p.inspector.ForceRelease(ctx, g.Key)
		return driver.Grant{}, err
	}},
	{"Inspect", needsInspect, false, false, func(p *process, ctx context.Context, g driver.Grant) (driver.Grant, error) {
		_, err := p.inspector.Inspect(ctx, g.Key, 1)
		if errors.Is(err, errors.ErrUnsupported) {
			_, err = p.inspector.Inspect(ctx, g.Key, 0)
		}
		return driver.Grant{}, err
	}},
	{"Revoke", needsRevoke, false, false, func(p *process, ctx context.Context, g driver.Grant) (driver.Grant, error) {
		_, err := p.revoker.Revoke(ctx, g.Key)
		return driver.Grant{}, err
	}},
	{"Ping", needsPing, false, false, func(p *process, ctx context.Context, _ driver.Grant) (driver.Grant, error) {
		return driver.Grant{}, p.pinger.Ping(ctx)
	}},
}

// extended is how many tokens an Extend asks for.
const extended = 4

// asked returns a request for a grant, which may have been extended.
func asked(g driver.Grant) driver.Request {
	return driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL, Mode: g.Mode, Permits: g.Permits, Tokens: extended}
}

// extensions are the calls that extend the lease of their owner.
func extensions(p *process) (all []call) {
	for _, c := range calls {
		if c.extends && c.need.met(p) {
			all = append(all, c)
		}
	}
	return all
}
