package distlock

import (
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
	bridge.Join = join
	bridge.Unavailable = unavailable
	bridge.Operate = func(locker *Locker, f func(driver.Backend) error) error {
		if !locker.life.begin() {
			return ErrClosed
		}
		defer locker.life.done(nil)
		return f(locker.backend)
	}
	bridge.Owner = func(lease *Lease) string { return lease.state.Grant().Owner }
}
