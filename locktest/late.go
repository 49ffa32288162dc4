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
