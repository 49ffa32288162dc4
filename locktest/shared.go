package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var sharedCases = []testCase{
	{
		name:        "writer-waits-for-all",
		explanation: "A waiting writer must get the key at once when the last reader has released, and not before.",
		needs:       []need{needsQueue},
		run:         func(p *process) { inTurn(p, "rrr", "w") },
	},
	{
		name: "later-readers-wait",
		explanation: "A reader that arrives after a waiting writer must wait behind it, even if other readers have the key: " +
			"otherwise readers that come and go would keep the writer out.",
		needs: []need{needsQueue},
		run:   func(p *process) { inTurn(p, "r", "wr") },
	},
	{
		name:        "next-readers-together",
		explanation: "When a reader is first in the queue, all readers up to the next writer must get the key together.",
		needs:       []need{needsQueue},
		run:         func(p *process) { inTurn(p, "w", "rrrwr") },
	},
	{
		name:        "writer-leaves-the-queue",
		explanation: "When a waiting writer gives up its place, the readers behind it must get the key.",
		needs:       []need{needsQueue},
		run: func(p *process) {
			key := p.key()
			g := p.try(p.reader(key, long))
			gone := p.request(key, long)
			takePlace(p, gone)
			w := queueUp(p, p.reader(key, long))
			p.giveUp(gone)
			p.release(w.served(p))
			p.releaseLast(g)
		},
	},
	{
		name:        "crashed-with-waiters",
		explanation: "If a reader or the holder of a permit never releases, the next waiter must get its place when its lease has ended.",
		needs:       []need{needsQueue},
		run: func(p *process) {
			key := p.key()
			g := p.try(p.reader(key, 2*p.Lease))
			writer := queueUpLooking(p, g, p.request(key, long), p.Lease/2).served(p)
			p.mustHaveEnded(g)
			p.releaseLast(writer)
			p.take(key, permits-1)
			g = p.try(p.permit(key, 2*p.Lease))
			queueUpLooking(p, g, p.permit(key, long), p.Lease/2).served(p)
			p.busy(p.permit(key, long))
		},
	},
	{
		name:        "each-its-own-lease",
		explanation: "Each reader has its own lease: the end of one must not end another, and the longest keeps a writer out.",
		run: func(p *process) {
			key := p.key()
			longer := p.try(p.reader(key, 4*p.Lease))
			short := p.try(p.reader(key, p.Lease))
			time.Sleep(2 * p.Lease)
			mustReport(p, renewAll(p, short), driver.ErrLost)
			mustStillHold(p, longer)
			p.seize(p.request(key, long), 2*p.Lease)
		},
	},
	{
		name:        "renewal-of-one",
		explanation: "Renew must extend the lease of the reader, or holder of a permit, that it is called for, and no other.",
		run: func(p *process) {
			for _, ask := range p.modes()[1:] {
				r := ask(p.key(), p.Lease)
				crashed := p.try(ask(r.Key, p.Lease))
				keepAlive(p, r, renewal)
				mustReport(p, renewAll(p, crashed), driver.ErrLost)
			}
		},
	},
	{
		name:        "release-of-one",
		explanation: "Release by one reader must not change the others.",
		run: func(p *process) {
			key := p.key()
			one, other := p.try(p.reader(key, long)), p.try(p.reader(key, long))
			p.release(one)
			p.busy(p.request(key, long))
			mustReport(p, renewAll(p, one, other), driver.ErrLost, nil)
			p.giveUp(driver.Request{Key: key, Owner: one.Owner, TTL: one.TTL, Mode: one.Mode}) // again
			p.releaseLost(p.request(key, long).Grant())
			p.busy(p.request(key, long))
			mustReport(p, renewAll(p, other), nil)
			p.releaseLast(other)
		},
	},
	{
		name: "tokens-rise",
		explanation: "The tokens of readers, of writers and of holders of permits must rise in the order of the grants, even among those that " +
			"hold the key together: a resource that has seen a later token refuses an earlier one.",
		needs: []need{needsTokens},
		run: func(p *process) {
			key, last := p.hold(long)
			for range 4 {
				for _, ask := range p.modes() {
					p.release(last)
					r := ask(key, long)
					r.Tokens = 16
					next := p.try(r)
					p.mustRise(last, next)
					if last = next; next.Sharing() != (driver.Sharing{}) {
						last = p.try(ask(key, long))
						p.mustRise(next, last)
						p.release(next)
					}
				}
			}
		},
	},
	{
		name: "admits",
		explanation: "TryAcquire must grant a key beside its holders exactly if driver.Sharing.Admits says so: " +
			"the Locker decides by it inside a process, and two processes must decide alike.",
		run: func(p *process) {
			other := p.last()
			for _, has := range sharings {
				for _, asks := range sharings {
					key := p.key()
					for n := 0; n <= 3; n++ {
						mustAgree(other, key, n, has, asks)
						if !has.Admits(n, has) {
							break
						}
						p.try(p.asking(key, has))
					}
				}
			}
		},
	},
	{
		name:        "crowd",
		explanation: "A function under a writer's lock must not overlap with any other, in one process or two, and each must get its turn.",
		run: func(p *process) {
			reader := driver.Sharing{Mode: driver.Shared}
			crowd(p, reader, reader, reader, driver.Sharing{})
		},
	},
}

// sharings are the small ways of sharing a key.
var sharings = []driver.Sharing{
	{Mode: driver.Exclusive}, {Mode: driver.Shared}, {Permits: 1}, {Permits: 2}, {Permits: 3},
}

// mustAgree checks that TryAcquire with the sharing asks succeeds exactly if Admits says so,
// while n holders have the key with the sharing has.
func mustAgree(p *process, key string, n int, has, asks driver.Sharing) {
	p.Helper()
	r := p.asking(key, asks)
	g, err := p.attempt(r)
	admitted := has.Admits(n, asks)
	if admitted && err != nil && p.Settle > 0 {
		g, err = p.try(r), nil
	}
	if admitted != (err == nil) {
		p.Errorf("%d holders with %+v, and TryAcquire with %+v returned the error %v; Admits returned %v", n, has, asks, err, admitted)
	}
	if err == nil {
		p.release(g)
	} else {
		p.mustBeHeld(err)
	}
}
