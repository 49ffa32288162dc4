package locktest

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
