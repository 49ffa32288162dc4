package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var releaseCases = []testCase{
	{
		name:        "frees",
		explanation: "After Release anybody can have the key at once.",
		run: func(f *fixture) {
			key := f.key()
			for range 5 {
				f.free(key)
			}
		},
	},
	{
		name: "twice",
		explanation: "Releasing again what this owner has released must not be an error: the reply to the first may have been lost, " +
			"and whoever releases until it is certain must not be told of a loss.",
		run: func(f *fixture) {
			g := f.try(f.request(f.key(), long))
			f.release(g)
			f.release(g)
			f.free(g.Key)
		},
	},
	{
		name: "again-after-the-next",
		explanation: "A repeated Release must leave alone whoever has the key by then. Whether the store remembers that this owner has released, " +
			"and says nothing, or says ErrLost, is its own affair.",
		run: func(f *fixture) {
			g := f.try(f.request(f.key(), long))
			f.release(g)
			next := f.try(f.request(g.Key, long))
			f.giveUp(driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL})
			f.busy(f.request(g.Key, long))
			f.release(next)
		},
	},
	{
		name:        "others",
		explanation: "A grant of another owner must not be touched, and the error must wrap ErrLost: a late release must never end the next holder's lock.",
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			f.releaseLost(f.request(key, long).Grant())
			f.busy(f.request(key, long))
			f.want(f.renewAll(g), driver.Renewed)
			f.release(g)
			f.free(key)
		},
	},
	{
		name:        "after-takeover",
		explanation: "Whoever slept through the end of its lease and releases then must be told ErrLost if another has the key, and must leave it alone.",
		needs:       []need{needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			late := f.try(f.request(key, f.Lease))
			g := f.seize(f.request(key, long), f.Lease)
			for range 2 {
				f.releaseLost(late)
			}
			f.busy(f.request(key, long))
			f.release(g)
			f.free(key)
		},
	},
	{
		name: "claim",
		explanation: "A Release without tokens gives up a request whose outcome is unknown: it frees the key if the request was granted, " +
			"and is no error if it never arrived.",
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

// releaseLost releases what another has.
func (f *fixture) releaseLost(g driver.Grant) {
	f.Helper()
	start := time.Now()
	f.mustHearOfLoss(f.backend.Release(f.Context(), g), start)
}

// mustHearOfLoss checks the answer to a release that began at start, of what another
// has.
func (f *fixture) mustHearOfLoss(err error, start time.Time) {
	f.Helper()
	if err == nil && f.Resend > 0 && time.Since(start) >= f.Resend {
		f.tooSlow()
	}
	f.mustBeLost(err)
}

// mustBeLost checks the answer to whoever releases what another has.
func (f *fixture) mustBeLost(err error) {
	f.Helper()
	if !errors.Is(err, driver.ErrLost) {
		f.Errorf("another has the key, and the error does not wrap ErrLost: %v", err)
	}
}
