package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var lateCases = []testCase{
	{
		name: "shortens-nothing",
		explanation: "A request that arrives late must not shorten a lease that another request of the owner has extended since: " +
			"the function would lose its lock, and a job would run twice within its MinHold.",
		run: func(f *fixture) {
			var extended []driver.Grant
			for _, extend := range []func(g driver.Grant){
				func(g driver.Grant) { f.want(f.renewAll(g), driver.Renewed) },
				func(g driver.Grant) {
					g.TTL, g.Retain = long/2, true
					f.want(f.renewAll(g), driver.Renewed)
				},
				func(g driver.Grant) {
					if f.extender != nil && g.Sharing() == (driver.Sharing{}) {
						f.more(g, 4)
					}
				},
			} {
				f.eachLateRequest(func(g driver.Grant, arrives func()) {
					extend(g)
					arrives()
					g.TTL = long / 2
					extended = append(extended, g)
				})
			}
			time.Sleep(2 * f.Lease)
			for _, g := range extended {
				f.mustStillHold(g)
			}
		},
	},
	{
		name:        "others",
		explanation: "A request that arrives when another owner has the key must not change the lease of the other.",
		run: func(f *fixture) {
			var others []driver.Grant
			f.eachLateRequest(func(g driver.Grant, arrives func()) {
				f.release(g)
				other := f.try(f.request(g.Key, long))
				arrives()
				_ = f.backend.Release(f.Context(), g) // what it may have left in the queue
				others = append(others, other)
			})
			time.Sleep(2 * f.Lease)
			for _, g := range others {
				f.mustStillHold(g)
				f.want(f.renewAll(g), driver.Renewed)
			}
		},
	},
}

// eachLateRequest acquires a key for each request that extends a lease, in each mode. It calls
// do with the grant, which is long, and a function that sends the request with the TTL
// Features.Lease. To a store that is the arrival of a late copy; the result does not count.
func (f *fixture) eachLateRequest(do func(g driver.Grant, arrives func())) {
	f.Helper()
	for _, ask := range f.modes() {
		for _, send := range f.extensions() {
			r := ask(f.key(), long)
			g := f.try(r)
			r.TTL = f.Lease
			do(g, func() { _ = send(r) })
		}
	}
}
