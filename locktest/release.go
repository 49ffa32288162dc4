package locktest

import (
	"errors"

	"github.com/distlock-go/distlock/driver"
)

var releaseCases = []testCase{
	{
		name: "twice",
		explanation: "To release again what this owner has released must not fail, except with ErrLost, which a store returns that remembers " +
			"no release that was answered. If another owner has the key by then, the other must keep it.",
		run: func(p *process) {
			g := p.try(p.request(p.key(), long))
			p.release(g)
			if err := p.backend.Release(p.Context(), g); err != nil && !errors.Is(err, driver.ErrLost) {
				p.Errorf("the second Release: %v", err)
			}
			next := p.try(p.request(g.Key, long))
			p.giveUp(driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL})
			p.busy(p.request(g.Key, long))
			p.release(next)
			p.free(g.Key)
		},
	},
	{
		name:        "others",
		explanation: "Release must not touch the grant of another owner, and the error must wrap ErrLost: a late release must never end the lock of the next holder.",
		run: func(p *process) {
			key, g := p.hold(long)
			p.releaseLost(p.request(key, long).Grant())
			p.busy(p.request(key, long))
			mustReport(p, renewAll(p, g), nil)
			p.releaseLast(g)
		},
	},
	{
		name: "unknown-outcome",
		explanation: "Release of a grant without tokens gives up a request with an unknown outcome: it must free the key if the request was granted, " +
			"and must not be an error if the request never arrived.",
		run: func(p *process) {
			r := p.request(p.key(), long)
			p.try(r)
			p.release(r.Grant())
			p.release(p.request(r.Key, long).Grant())
			p.release(p.request(p.key(), long).Grant())
			p.free(r.Key)
		},
	},
}
