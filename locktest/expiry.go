package locktest

var expiryCases = []testCase{
	{
		name: "after-the-ttl",
		explanation: "A lease that is not renewed must end after the TTL of its own request, and not before: a crashed holder blocks the key " +
			"for no longer, and a running one relies on all of it.",
		run: func(f *fixture) {
			key, g := f.hold(f.Lease)
			_, longer := f.hold(4 * f.Lease)
			other := f.seize(f.request(key, long), f.Lease)
			f.mustHaveEnded(g)
			f.mustStillHold(longer)
			f.releaseLast(other)
		},
	},
	{
		name: "late-owner",
		explanation: "When its lease has ended, an owner has no rights left: while another owner has the key, TryAcquire by the first must fail, " +
			"and the error of its Release must wrap ErrLost. Otherwise both hold it.",
		run: func(f *fixture) {
			key := f.key()
			late := f.request(key, f.Lease)
			lost := f.try(late)
			g := f.seize(f.request(key, long), f.Lease)
			f.busy(late)
			for range 2 {
				f.releaseLost(lost)
			}
			f.busy(f.request(key, long))
			f.releaseLast(g)
		},
	},
}
