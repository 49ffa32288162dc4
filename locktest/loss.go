package locktest

import "github.com/distlock-go/distlock/driver"

var lossCases = []testCase{
	{
		name: "next-holder",
		explanation: "If the store has forgotten the holder, the next renewal must be Lost, and must not create the key anew. " +
			"If another owner has the key then, the error of Release must wrap ErrLost, and the other must keep it. Its token must be larger: the first may still be writing.",
		run: func(p *process) {
			for _, retain := range []bool{false, true} {
				r := p.request(p.key(), long)
				r.Tokens = 64
				lost := p.try(r)
				lost.Retain = retain
				p.Drop(p.T, p.backend, r.Key)
				mustReport(p, renewAll(p, lost), driver.ErrLost)
				g := p.try(p.request(r.Key, long))
				p.mustRise(lost, g)
				p.releaseLost(lost)
				mustReport(p, renewAll(p, lost, g), driver.ErrLost, nil)
				p.busy(p.request(r.Key, long))
				p.releaseLast(g)
			}
		},
	},
	{
		name:        "queue-moves-on",
		explanation: "If the store has forgotten the holder, a waiter must get the key at the latest when it looks again by itself.",
		needs:       []need{needsQueue},
		run: func(p *process) {
			key, g := p.hold(long)
			w := queueUpLooking(p, g, p.request(key, long), p.Lease/2)
			p.Drop(p.T, p.backend, key)
			p.releaseLast(w.served(p))
		},
	},
}
