package distlock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/bridge"
)

// What packages wiring and admin need of this package.
func init() {
	bridge.Site = func(locker *Locker, name string, opts Opts) any { return newSite(locker, name, opts) }
	bridge.RefusedOptions = refusedOptions
	bridge.Key = func(opts Opts, params any) (string, error) {
		keys, err := newKeyBuilder(opts)
		if err != nil {
			return "", err
		}
		return keys.Key(params)
	}
	bridge.CheckKey = checkKey
	bridge.Leases = func(ctx context.Context) (all bridge.Tickets) {
		innermost, _ := FromContext(ctx)
		for lease := innermost; lease != nil; lease = lease.outer {
			if lease.state.Class().Sharing == (driver.Sharing{}) {
				all = append(all, lease)
			}
		}
		return all
	}
	bridge.Finish = (*Lease).finish
	bridge.Unanswered = unanswered
	bridge.Operate = func(ctx context.Context, locker *Locker, f func(driver.Backend) error) error {
		if ctx.Err() != nil {
			return endOf(ctx)
		}
		if !locker.life.begin() {
			return ErrClosed
		}
		defer locker.life.done()
		return f(locker.backend)
	}
	bridge.Handle = func(text string) (driver.Grant, error) {
		var opts Opts
		h, err := parseHandle(text, &opts)
		g := driver.Grant{Key: h.Key, Owner: h.Owner, TTL: h.TTL, Permits: h.Permits, Token: h.Token, LastToken: h.Token}
		if opts.MaxHold > 0 {
			g.TTL = min(g.TTL, opts.MaxHold)
		}
		return g, err
	}
	bridge.Waiting = func(locker *Locker, key string) int { return locker.queue.Waiting(key) }
	bridge.Owner = func(lease *Lease) string { return lease.state.Grant().Owner }
	bridge.Kept = func(locker *Locker, prefix string) map[string]time.Time { return locker.leases.lingering(prefix) }
	bridge.Taken = func(locker *Locker, key string) func() { return locker.watchdog.taken(key) }
}
