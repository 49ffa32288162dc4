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

var idempotenceCases = []testCase{
	{
		name: "same-owner-again",
		explanation: "TryAcquire and Enqueue by an owner that has the key must succeed, with tokens that are not smaller than at first, and must not take a second permit: " +
			"a reply can be lost after the store has acted, and an owner that tries again must not wait for itself.",
		run: func(p *process) {
			for _, ask := range p.modes() {
				r := ask(p.key(), long)
				r.Tokens = 8
				first := p.try(r)
				for range permits {
					p.mustRepeat(first, p.try(r))
				}
				if p.queue != nil {
					before := time.Now()
					g, err := p.queue.Enqueue(p.Context(), r)
					if err != nil {
						p.Fatalf("Enqueue by the holder: %v", err)
					}
					p.inspect(g, r, before)
					p.mustRepeat(first, g)
				}
				if r.Permits > 0 {
					for _, other := range p.take(r.Key, permits-1) {
						p.release(other)
					}
				}
				p.busy(p.request(r.Key, long))
				p.releaseLast(first) // once is enough
			}
		},
	},
}
