package locktest

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// call is a method of a backend, for cases that do the same with each.
type call struct {
	name string
	need need
	asks bool // an owner without the key calls it, too
	// extends: the owner has the key for the TTL of the request afterwards.
	extends bool
	run     func(f *fixture, ctx context.Context, r driver.Request) (driver.Grant, error)
}

var calls = []call{
	{"TryAcquire", needsNothing, true, true, func(f *fixture, ctx context.Context, r driver.Request) (driver.Grant, error) {
		return f.backend.TryAcquire(ctx, r)
	}},
	/*{"Enqueue", needsQueue, true, true, func(f *fixture, ctx context.Context, r driver.Request) (driver.Grant, error) {
		return f.queue.Enqueue(ctx, r)
	}},*/
	{"Renew", needsNothing, false, true, func(f *fixture, ctx context.Context, r driver.Request) (driver.Grant, error) {
		g := r.Grant()
		g.Sent = time.Now()
		result := f.renewUnder(ctx, []driver.Grant{g}, nil)[0]
		if result.Status == driver.Lost {
			return g, driver.ErrLost
		}
		return g, result.Err
	}},
	{"Extend", needsExtend, false, true, func(f *fixture, ctx context.Context, r driver.Request) (driver.Grant, error) {
		return f.extender.Extend(ctx, r.Grant(), 4)
	}},
	{"Release", needsNothing, false, false, func(f *fixture, ctx context.Context, r driver.Request) (driver.Grant, error) {
		return driver.Grant{}, f.backend.Release(ctx, r.Grant())
	}},
	{"ForceRelease", needsInspect, false, false, func(f *fixture, ctx context.Context, r driver.Request) (driver.Grant, error) {
		_, err := f.inspector.ForceRelease(ctx, r.Key)
		return driver.Grant{}, err
	}},
	{"Inspect", needsInspect, false, false, func(f *fixture, ctx context.Context, r driver.Request) (driver.Grant, error) {
		_, err := f.inspector.Inspect(ctx, r.Key, 1)
		return driver.Grant{}, err
	}},
	{"Revoke", needsRevoke, false, false, func(f *fixture, ctx context.Context, r driver.Request) (driver.Grant, error) {
		_, err := f.revoker.Revoke(ctx, r.Key)
		return driver.Grant{}, err
	}},
	{"Ping", needsPing, false, false, func(f *fixture, ctx context.Context, _ driver.Request) (driver.Grant, error) {
		return driver.Grant{}, f.pinger.Ping(ctx)
	}},
}
