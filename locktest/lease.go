package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var expiryCases = []testCase{
	{
		name: "after-the-ttl",
		explanation: "A lease that is not renewed must end after the TTL of its own request, and not before: a crashed holder blocks the key " +
			"for no longer, and a running one relies on all of it.",
		run: func(p *process) {
			key, g := p.hold(p.Lease)
			_, longer := p.hold(4 * p.Lease)
			other := p.seize(p.request(key, long), p.Lease)
			p.mustHaveEnded(g)
			mustStillHold(p, longer)
			p.releaseLast(other)
		},
	},
	{
		name: "late-owner",
		explanation: "When its lease has ended, an owner has no rights left: while another owner has the key, TryAcquire by the first must fail, " +
			"and the error of its Release must wrap ErrLost. Otherwise both hold it.",
		run: func(p *process) {
			key := p.key()
			late := p.request(key, p.Lease)
			lost := p.try(late)
			g := p.seize(p.request(key, long), p.Lease)
			p.busy(late)
			for range 2 {
				p.releaseLost(lost)
			}
			p.busy(p.request(key, long))
			p.releaseLast(g)
		},
	},
}

var lateCases = []testCase{
	{
		name: "shortens-nothing",
		explanation: "A request that arrives late must not shorten a lease that another request of the owner has extended since: " +
			"the function would lose its lock, and a job would run twice within its MinHold.",
		run: func(p *process) {
			var extended []driver.Grant
			for _, extend := range []func(g driver.Grant){
				func(g driver.Grant) { mustReport(p, renewAll(p, g), nil) },
				func(g driver.Grant) {
					g.TTL, g.Retain = long/2, true
					mustReport(p, renewAll(p, g), nil)
				},
				func(g driver.Grant) {
					if p.extender != nil && g.Sharing() == (driver.Sharing{}) {
						more(p, g, 4)
					}
				},
			} {
				eachLateRequest(p, func(g driver.Grant, arrives func()) {
					extend(g)
					arrives()
					g.TTL = long / 2
					extended = append(extended, g)
				})
			}
			time.Sleep(2 * p.Lease)
			for _, g := range extended {
				mustStillHold(p, g)
			}
		},
	},
}

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
