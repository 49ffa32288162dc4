package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var releaseCases = []testCase{
	{
		name: "twice",
		explanation: "To release again what this owner has released must not fail, except with ErrLost, which a store returns that remembers " +
			"no release that was answered. If another owner has the key by then, the other must keep it.",
		run: func(f *fixture) {
			g := f.try(f.request(f.key(), long))
			f.release(g)
			if err := f.backend.Release(f.Context(), g); err != nil && !errors.Is(err, driver.ErrLost) {
				f.Errorf("the second Release: %v", err)
			}
			next := f.try(f.request(g.Key, long))
			f.giveUp(driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL})
			f.busy(f.request(g.Key, long))
			f.release(next)
			f.free(g.Key)
		},
	},
	{
		name:        "others",
		explanation: "Release must not touch the grant of another owner, and the error must wrap ErrLost: a late release must never end the lock of the next holder.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			f.releaseLost(f.request(key, long).Grant())
			f.busy(f.request(key, long))
			f.want(f.renewAll(g), driver.Renewed)
			f.releaseLast(g)
		},
	},
	{
		name: "unknown-outcome",
		explanation: "Release of a grant without tokens gives up a request with an unknown outcome: it must free the key if the request was granted, " +
			"and must not be an error if the request never arrived.",
		run: func(f *fixture) {
			r := f.request(f.key(), long)
			f.try(r)
			f.release(r.Grant())
			f.release(f.request(r.Key, long).Grant())
			f.release(f.request(f.key(), long).Grant())
			f.free(r.Key)
		},
	},
}

// releaseLost releases a key that another owner has.
func (f *fixture) releaseLost(g driver.Grant) {
	f.Helper()
	start := time.Now()
	err := f.backend.Release(f.Context(), g)
	if err == nil && f.Resend > 0 && time.Since(start) >= f.Resend {
		f.tooSlow()
	}
	f.mustBeLost(err)
}

// mustBeLost checks the error of an owner that does not have the key.
func (f *fixture) mustBeLost(err error) {
	f.Helper()
	if !errors.Is(err, driver.ErrLost) {
		f.Errorf("the owner does not have the key, but the error does not wrap ErrLost: %v", err)
	}
}
