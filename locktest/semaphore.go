package locktest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

var semaphoreCases = []testCase{
	{
		name:        "exactly-n",
		explanation: "A semaphore of n permits lets in n holders and not one more, and each Release one more.",
		needs:       []need{needsShare},
		run: func(f *fixture) {
			key := f.key()
			grants := f.all(key, long)
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
		explanation: "Whoever finds no permit waits in line, and gets the next that comes free, one for each Release.",
		needs:       []need{needsShare, needsQueue},
		run: func(f *fixture) {
			key := f.key()
			grants := f.all(key, long)
			line := f.line()
			line.join(f.permit(key, long))
			line.join(f.permit(key, long))
			line.mustWait()
			f.release(grants[1])
			first := line.next()
			line.mustWait()
			f.release(grants[0])
			f.release(first)
			f.release(line.next())
			f.release(grants[2])
			f.free(key)
		},
	},
	{
		name:        "expired-permit",
		explanation: "The permit of a holder that does not renew comes back when its lease has ended, and only that one.",
		needs:       []need{needsShare, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			f.allButOne(key)
			g := f.try(f.permit(key, f.Lease))
			f.seize(f.permit(key, long), f.Lease)
			f.mustHaveEnded(g)
			f.busy(f.permit(key, long))
			f.want(f.renewAll(g), driver.Lost)
		},
	},
	{
		name:        "all-crashed",
		explanation: "If no holder renews, all permits come back, and not one more.",
		needs:       []need{needsShare, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			f.all(key, f.Lease)
			for range permits {
				f.seize(f.permit(key, long), f.Lease)
			}
			f.busy(f.permit(key, long))
		},
	},
	{
		name:        "expired-permit-and-a-line",
		explanation: "If a holder never releases, its permit goes to the first in line when its lease has ended.",
		needs:       []need{needsShare, needsQueue, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			f.allButOne(key)
			g := f.try(f.permit(key, 2*f.Lease))
			f.queueUpLooking(g, f.permit(key, long), f.Lease/2).served(f)
			f.busy(f.permit(key, long))
		},
	},
	{
		name:        "renewal-of-one",
		explanation: "Renew extends the lease of one holder, and no other's.",
		needs:       []need{needsShare, needsExpiry},
		run:         func(f *fixture) { f.renewOne(f.permit) },
	},
	{
		name:        "exclusive-alone",
		explanation: "Exclusive lets nobody in beside it, whatever it asks for, and is not let in beside anybody.",
		needs:       []need{needsShare},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.permit(key, long))
			f.busy(f.request(key, long))
			f.release(g)
			g = f.try(f.request(key, long))
			f.busy(f.permit(key, long))
			f.release(g)
			f.free(key)
		},
	},
	{
		name:        "same-owner-again",
		explanation: "An owner that has a permit already succeeds, with the same tokens, and takes no second one.",
		needs:       []need{needsShare},
		run: func(f *fixture) {
			key := f.key()
			r := f.permit(key, long)
			first := f.try(r)
			for range permits {
				f.mustRepeat(first, f.try(r))
			}
			f.allButOne(key)
			f.busy(f.permit(key, long))
		},
	},
	{
		name:        "tokens-rise",
		explanation: "The tokens of those who hold permits together rise in the order of the grants.",
		needs:       []need{needsShare, needsTokens},
		run: func(f *fixture) {
			key := f.key()
			last := f.try(f.permit(key, long))
			for i := range 4 * permits {
				r := f.permit(key, long)
				r.Tokens = 1 + i%8
				g := f.try(r)
				f.mustRise(last, g)
				f.release(last)
				last = g
			}
		},
	},
	{
		name:        "two-peers",
		explanation: "The permits are those of the fleet, not of each process.",
		needs:       []need{needsShare, needsPeer},
		run: func(f *fixture) {
			peer := f.peer()
			key := f.key()
			for i := range permits {
				b := f.backend
				if i%2 == 0 {
					b = peer
				}
				f.tryOn(b, f.permit(key, long))
			}
			f.busy(f.permit(key, long))
			f.busyOn(peer, f.permit(key, long))
		},
	},
	{
		name:        "crowd",
		explanation: "Of many functions in two processes at most n run at once under a semaphore of n, and each gets its turn.",
		needs:       []need{needsShare},
		run: func(f *fixture) {
			key := f.key()
			o := f.opts()
			o.Permits = permits
			var inside atomic.Int32
			f.turns(12, 4, 4, func(l *distlock.Locker, _, _ int) error {
				return l.Do(f.Context(), key, o, func(context.Context) error {
					if n := inside.Add(1); n > permits {
						f.Errorf("%d are inside at once", n)
					}
					time.Sleep(f.tick())
					inside.Add(-1)
					return nil
				})
			})
			f.eventuallyFree(key)
		},
	},
}

// allButOne leaves one permit.
func (f *fixture) allButOne(key string) {
	f.Helper()
	for range permits - 1 {
		f.try(f.permit(key, long))
	}
}

// all takes every permit.
func (f *fixture) all(key string, ttl time.Duration) []driver.Grant {
	f.Helper()
	grants := make([]driver.Grant, permits)
	for i := range grants {
		grants[i] = f.try(f.permit(key, ttl))
	}
	return grants
}
