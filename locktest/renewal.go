package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
)

var renewalCases = []testCase{
	{
		name: "extends",
		explanation: "Renew must extend a lease to a full TTL from now, each time, and no further: nothing else keeps the lock of a long function. " +
			"So must Extend, and TryAcquire and Acquire by an owner that has the key. The TTL is that of the last request, as the Locker counts it.",
		run: func(p *process) {
			for _, c := range extensions(p) {
				r := p.request(p.key(), p.Lease)
				g := keepAlive(p, r, c)
				r.TTL = 2 * p.Lease
				g = extend(p, g, r, c)
				time.Sleep(3 * p.Lease / 2)
				mustStillHold(p, g)
				p.seize(p.request(r.Key, long), p.Lease/2)
			}
		},
	},
	{
		name: "retain-for-less",
		explanation: "Renew with Retain must end the lease TTL from then on, even if it was longer before: the Locker keeps a key for the rest of MinHold that way. " +
			"An earlier request that arrives afterwards may lengthen that by its own TTL, and no more.",
		run: func(p *process) {
			var retained []driver.Grant
			eachLateRequest(p, func(g driver.Grant, arrives func()) {
				g.TTL, g.Retain, g.Sent = p.Lease, true, time.Now()
				mustReport(p, renewAll(p, g), nil)
				if len(retained) > 0 { // the first one shows the end without a late request
					arrives()
				}
				retained = append(retained, g)
			})
			for _, g := range retained {
				other := p.seize(p.request(g.Key, long), p.Lease)
				p.mustHaveEnded(g)
				p.release(other)
				p.free(g.Key)
			}
		},
	},
	{
		name: "large-batch",
		explanation: "Renew may get more grants than a backend sends in one request, some held and some lost: " +
			"each must have its own result, with its index. The Locker cancels the function if the result is a loss, and the others go on.",
		run: func(p *process) {
			const n = 300 // more than 256, which several stores send at a time
			grants := make([]driver.Grant, n)
			want := make([]error, n)
			for i := range grants {
				grants[i] = p.try(p.request(p.key(), long))
				if i%3 != 0 {
					p.release(grants[i])
					want[i] = driver.ErrLost
				}
				if i%3 == 2 {
					p.try(p.request(grants[i].Key, long))
				}
			}
			mustReport(p, renewAll(p, grants...), want...)
			mustReport(p, renewAll(p, grants[:3]...), want[:3]...)
			mustReport(p, renewAll(p))
			for i := range 12 {
				if i%3 == 1 {
					p.free(grants[i].Key)
				} else {
					p.busy(p.request(grants[i].Key, long))
				}
			}
		},
	},
	{
		name: "far-longer-than-before",
		explanation: "Renew must accept any TTL, even one that is far longer than the lease was: the Locker keeps a key for MinHold that way. " +
			"A backend with a limit must declare it as Features.MaxTTL, and the Locker refuses more before the work begins.",
		run: func(p *process) {
			g := p.try(p.request(p.key(), long))
			g.TTL = 24 * time.Hour
			if limit := p.can.MaxTTL; limit > 0 {
				g.TTL = limit
			}
			mustReport(p, renewAll(p, g), nil)
			p.release(g)
			p.free(g.Key)
		},
	},
	{
		name: "above-the-limit",
		explanation: "A backend with a MaxTTL must accept that TTL, and must refuse a longer one at once, with an error that wraps neither ErrLost nor ErrNotAcquired: " +
			"the Locker would cancel a function that has its lock, or wait for nothing.",
		needs: []need{needsLimit},
		run: func(p *process) {
			limit := p.can.MaxTTL
			p.release(p.try(p.request(p.key(), limit)))
			r := p.request(p.key(), limit+time.Millisecond)
			if _, err := p.backend.TryAcquire(p.Context(), r); !refusesTTL(err) {
				p.Errorf("TryAcquire for %v: %v", r.TTL, err)
			}
			p.free(r.Key)
			g := p.try(p.request(p.key(), long))
			long := g
			long.TTL = r.TTL
			if got := renewUnder(p.Context(), p, []driver.Grant{long}, nil)[0]; !await.InDoubt(got) || !refusesTTL(got) {
				p.Errorf("Renew for %v: %v", long.TTL, got)
			}
			mustStillHold(p, g)
			p.release(g)
		},
	},
	{
		name: "beside-waiters",
		explanation: "The waiters of many processes must not keep the holder from its renewals: a store that keeps both in one value must not " +
			"make the holder wait for them.",
		needs: []need{needsPeer},
		run: func(p *process) {
			r := p.request(p.key(), 4*p.Lease)
			g := p.try(r)
			for range 15 {
				wait(p.peer(), p.request(r.Key, long), p.Lease/4)
			}
			for range 12 {
				time.Sleep(p.Lease / 2)
				start := time.Now()
				g = extend(p, g, r, renewal)
				if d := time.Since(start); p.Bubble && d > p.Lease {
					p.Errorf("a renewal took %v beside the waiters of 15 processes", d)
				}
			}
		},
	},
	{
		name:        "others",
		explanation: "If another owner has the key, a grant must be reported Lost, and the lease of the other must not be extended.",
		run: func(p *process) {
			key, late := p.hold(long)
			p.release(late)
			g := p.try(p.request(key, p.Lease))
			mustReport(p, renewAll(p, late), driver.ErrLost)
			mustStillHold(p, g)
			p.seize(p.request(key, long), p.Lease)
		},
	},
	{
		name: "never-recreates",
		explanation: "A grant that was released must be reported Lost, and the error of Extend must wrap ErrLost, whether or not another owner has the key. " +
			"Nothing must be created: the key would be blocked for a whole lease.",
		run: func(p *process) {
			key, g := p.hold(long)
			p.release(g)
			mustBeGone(p, g)
			next := p.try(p.request(key, long))
			mustBeGone(p, g)
			mustReport(p, renewAll(p, next), nil)
			p.releaseLast(next)
		},
	},
	{
		name:        "never-revives",
		explanation: "After the end of its lease a grant must be lost in the same way, even if the key is free: another owner may have had it in between.",
		run: func(p *process) {
			g := p.try(p.request(p.key(), p.Lease))
			other := p.try(p.request(p.key(), p.Lease))
			p.seize(p.request(other.Key, long), p.Lease) // so the lease of g has ended too
			mustBeGone(p, g)
			p.seize(p.request(g.Key, long), 0) // a store may take a moment to notice the end
		},
	},
	{
		name: "no-report-afterwards",
		explanation: "Renew must report one result for each grant before it returns, and none afterwards, even if its context has ended: " +
			"the Locker reads the results then. A result may be Unknown. It must not be Lost if the lease has not ended.",
		run: func(p *process) {
			grants := make([]driver.Grant, 5)
			for i := range grants {
				_, grants[i] = p.hold(long)
			}
			for _, timeout := range []time.Duration{0, time.Microsecond, long} {
				ctx, cancel := context.WithTimeout(p.Context(), timeout)
				results := renewUnder(ctx, p, grants, cancel) // at the first report
				cancel()
				for i, r := range results {
					if errors.Is(r, driver.ErrLost) {
						p.Errorf("Renew, grant %d of %d: lost, and its lease has not ended", i, len(results))
					}
				}
			}
			time.Sleep(p.Lease)
			for _, g := range grants {
				mustReport(p, renewAll(p, g), nil)
			}
		},
	},
}

// refusesTTL reports whether err is an error that says nothing about the key.
func refusesTTL(err error) bool {
	for _, target := range []error{
		driver.ErrNotAcquired, driver.ErrLost, distlock.ErrUnavailable, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, target) {
			return false
		}
	}
	return err != nil
}

// mustBeGone checks that neither Renew nor Extend takes g for a grant that its owner has.
func mustBeGone(p *process, g driver.Grant) {
	p.Helper()
	retained := g
	retained.Retain = true
	mustReport(p, renewAll(p, g, retained), driver.ErrLost, driver.ErrLost)
	if p.extender != nil {
		_, err := p.extender.Extend(p.Context(), g, 4)
		p.mustBeLost(err)
	}
}
