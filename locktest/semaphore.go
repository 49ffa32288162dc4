package locktest

import "github.com/distlock-go/distlock/driver"

var semaphoreCases = []testCase{
	{
		name:        "exactly-n",
		explanation: "A semaphore of n permits must admit n holders and no more, and one more after each Release.",
		run: func(p *process) {
			key := p.key()
			grants := p.take(key, permits)
			for range 2 * permits {
				p.busy(p.permit(key, long))
				p.release(grants[0])
				grants = append(grants[1:], p.try(p.permit(key, long)))
			}
			for _, g := range grants {
				p.release(g)
			}
			p.free(key)
		},
	},
	{
		name:        "one-more-waits",
		explanation: "Without a free permit a request waits in the queue. Each Release must admit one waiter.",
		needs:       []need{needsQueue},
		run:         func(p *process) { inTurn(p, "ppp", "pp") },
	},
	{
		name:        "expired-permit",
		explanation: "When the lease of one holder has ended, its permit must be free, and no other.",
		run: func(p *process) {
			key := p.key()
			p.take(key, permits-1)
			g := p.try(p.permit(key, p.Lease))
			p.seize(p.permit(key, long), p.Lease)
			p.mustHaveEnded(g)
			p.busy(p.permit(key, long))
			mustReport(p, renewAll(p, g), driver.ErrLost)
		},
	},
	{
		name:        "crowd",
		explanation: "Under a semaphore of n permits at most n functions of two processes may run at once, and each must get its turn.",
		run:         func(p *process) { crowd(p, driver.Sharing{Permits: permits}) },
	},
}
