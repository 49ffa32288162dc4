package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

var renewalCases = []testCase{
	{
		name: "extends",
		explanation: "Renew must extend a lease to a full TTL from now, each time, and no further: nothing else keeps the lock of a long function. " +
			"So must Extend, and TryAcquire and Acquire by an owner that has the key. The TTL is that of the last request, as the Locker counts it.",
		run: func(f *fixture) {
			for _, send := range f.extensions() {
				r := f.request(f.key(), f.Lease)
				g := f.keepAlive(r, send)
				r.TTL = 2 * f.Lease
				g = f.extend(g, r, send)
				time.Sleep(3 * f.Lease / 2)
				f.mustStillHold(g)
				f.seize(f.request(r.Key, long), f.Lease/2)
			}
		},
	},
	{
		name: "retain-for-less",
		explanation: "Renew with Retain must end the lease TTL from then on, even if it was longer before: the Locker keeps a key for the rest of MinHold that way. " +
			"An earlier request that arrives afterwards may lengthen that by its own TTL, and no more.",
		run: func(f *fixture) {
			var retained []driver.Grant
			f.eachLateRequest(func(g driver.Grant, arrives func()) {
				g.TTL, g.Retain, g.Sent = f.Lease, true, time.Now()
				f.want(f.renewAll(g), driver.Renewed)
				if len(retained) > 0 { // the first one shows the end without a late request
					arrives()
				}
				retained = append(retained, g)
			})
			for _, g := range retained {
				other := f.seize(f.request(g.Key, long), f.Lease)
				f.mustHaveEnded(g)
				f.release(other)
				f.free(g.Key)
			}
		},
	},
	{
		name: "large-batch",
		explanation: "Renew may get more grants than a backend sends in one request, some held and some lost: " +
			"each must have its own result, with its index. The Locker cancels the function if the result is Lost, and the others go on.",
		run: func(f *fixture) {
			const n = 600
			grants := make([]driver.Grant, n)
			want := make([]driver.RenewStatus, n)
			for i := range grants {
				grants[i] = f.try(f.request(f.key(), long))
				want[i] = driver.Renewed
				if i%3 != 0 {
					f.release(grants[i])
					want[i] = driver.Lost
				}
				if i%3 == 2 {
					f.try(f.request(grants[i].Key, long))
				}
			}
			f.want(f.renewAll(grants...), want...)
			f.want(f.renewAll(grants[:3]...), want[:3]...)
			f.want(f.renewAll())
			for i := range 12 {
				if i%3 == 1 {
					f.free(grants[i].Key)
				} else {
					f.busy(f.request(grants[i].Key, long))
				}
			}
		},
	},
	{
		name: "far-longer-than-before",
		explanation: "Renew must accept any TTL, even one that is far longer than the lease was: the Locker keeps a key for MinHold that way. " +
			"A backend with a limit must declare it as Features.MaxTTL, and the Locker refuses more before the work begins.",
		run: func(f *fixture) {
			g := f.try(f.request(f.key(), long))
			g.TTL = 24 * time.Hour
			if limit := f.can.MaxTTL; limit > 0 {
				g.TTL = limit
			}
			f.want(f.renewAll(g), driver.Renewed)
			f.release(g)
			f.free(g.Key)
		},
	},
	{
		name: "above-the-limit",
		explanation: "A backend with a MaxTTL must accept that TTL, and must refuse a longer one at once, with an error that wraps neither ErrLost nor ErrNotAcquired: " +
			"the Locker would cancel a function that has its lock, or wait for nothing.",
		needs: []need{needsLimit},
		run: func(f *fixture) {
			limit := f.can.MaxTTL
			f.release(f.try(f.request(f.key(), limit)))
			r := f.request(f.key(), limit+time.Millisecond)
			if _, err := f.backend.TryAcquire(f.Context(), r); !refusesTTL(err) {
				f.Errorf("TryAcquire for %v: %v", r.TTL, err)
			}
			f.free(r.Key)
			g := f.try(f.request(f.key(), long))
			long := g
			long.TTL = r.TTL
			if got := f.renewUnder(f.Context(), []driver.Grant{long}, nil)[0]; got.Status != driver.Unknown || !refusesTTL(got.Err) {
				f.Errorf("Renew for %v: %v, %v", long.TTL, got.Status, got.Err)
			}
			f.mustStillHold(g)
			f.release(g)
		},
	},
	{
		name:        "others",
		explanation: "If another owner has the key, a grant must be reported Lost, and the lease of the other must not be extended.",
		run: func(f *fixture) {
			key, late := f.hold(long)
			f.release(late)
			g := f.try(f.request(key, f.Lease))
			f.want(f.renewAll(late), driver.Lost)
			f.mustStillHold(g)
			f.seize(f.request(key, long), f.Lease)
		},
	},
	{
		name: "never-recreates",
		explanation: "A grant that was released must be reported Lost, and the error of Extend must wrap ErrLost, whether or not another owner has the key. " +
			"Nothing must be created: the key would be blocked for a whole lease.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			f.release(g)
			f.mustBeGone(g)
			next := f.try(f.request(key, long))
			f.mustBeGone(g)
			f.want(f.renewAll(next), driver.Renewed)
			f.releaseLast(next)
		},
	},
	{
		name:        "never-revives",
		explanation: "After the end of its lease a grant must be lost in the same way, even if the key is free: another owner may have had it in between.",
		run: func(f *fixture) {
			g := f.try(f.request(f.key(), f.Lease))
			other := f.try(f.request(f.key(), f.Lease))
			f.seize(f.request(other.Key, long), f.Lease) // so the lease of g has ended too
			f.mustBeGone(g)
			f.seize(f.request(g.Key, long), 0) // a store may take a moment to notice the end
		},
	},
	{
		name: "no-report-afterwards",
		explanation: "Renew must report one result for each grant before it returns, and none afterwards, even if its context has ended: " +
			"the Locker reads the results then. A result may be Unknown. It must not be Lost if the lease has not ended.",
		run: func(f *fixture) {
			grants := make([]driver.Grant, 5)
			for i := range grants {
				_, grants[i] = f.hold(long)
			}
			for _, timeout := range []time.Duration{0, time.Microsecond, long} {
				ctx, cancel := context.WithTimeout(f.Context(), timeout)
				results := f.renewUnder(ctx, grants, cancel) // at the first report
				cancel()
				for i, r := range results {
					if r.Status == driver.Lost {
						f.Errorf("Renew, grant %d of %d: lost, and its lease has not ended", i, len(results))
					}
				}
			}
			time.Sleep(f.Lease)
			for _, g := range grants {
				f.want(f.renewAll(g), driver.Renewed)
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
func (f *fixture) mustBeGone(g driver.Grant) {
	f.Helper()
	f.want(f.renewAll(g), driver.Lost)
	if f.extender != nil {
		_, err := f.extender.Extend(f.Context(), g, 4)
		f.mustBeLost(err)
	}
}

// want checks the results of a batch.
func (f *fixture) want(results []driver.RenewResult, want ...driver.RenewStatus) {
	f.Helper()
	for i, r := range results {
		if r.Status != want[i] {
			f.Errorf("Renew, grant %d of %d: %v, want %v", i, len(results), r.Status, want[i])
		}
	}
}
