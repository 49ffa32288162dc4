package locktest

import "github.com/distlock-go/distlock/driver"

var semaphoreCases = []testCase{
	{
		name:        "exactly-n",
		explanation: "A semaphore of n permits must admit n holders and no more, and one more after each Release.",
		run: func(f *fixture) {
			key := f.key()
			grants := f.take(key, permits)
			for range 2 * permits {
				f.busy(f.permit(key, long))
				f.release(grants[0])
				grants = append(grants[1:], f.try(f.permit(key, long)))
			}
			for _, g := range grants {
				f.release(g)
			}
			f.free(key)
		},
	},
	{
		name:        "one-more-waits",
		explanation: "Without a free permit a request waits in the queue. Each Release must admit one waiter.",
		needs:       []need{needsQueue},
		run:         func(f *fixture) { f.inTurn("ppp", "pp") },
	},
	{
		name:        "expired-permit",
		explanation: "When the lease of one holder has ended, its permit must be free, and no other.",
		run: func(f *fixture) {
			key := f.key()
			f.take(key, permits-1)
			g := f.try(f.permit(key, f.Lease))
			f.seize(f.permit(key, long), f.Lease)
			f.mustHaveEnded(g)
			f.busy(f.permit(key, long))
			f.want(f.renewAll(g), driver.Lost)
		},
	},
	{
		name:        "crowd",
		explanation: "Under a semaphore of n permits at most n functions of two processes may run at once, and each must get its turn.",
		run:         func(f *fixture) { f.crowd(driver.Sharing{Permits: permits}) },
	},
}

// take takes n permits of a semaphore.
func (f *fixture) take(key string, n int) []driver.Grant {
	f.Helper()
	grants := make([]driver.Grant, n)
	for i := range grants {
		grants[i] = f.try(f.permit(key, long))
	}
	return grants
}
