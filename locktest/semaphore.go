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
		explanation: "A semaphore of n permits must admit n holders and no more, and one more after each Release.",
		run: func(f *fixture) {
			key := f.key()
			grants := f.all(key)
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
		run: func(f *fixture) {
			key := f.key()
			grants := f.all(key)
			first, second := f.queueUp(f.permit(key, long)), f.queueUp(f.permit(key, long))
			first.mustWait(f)
			f.release(grants[1])
			next := first.served(f)
			second.mustWait(f)
			f.release(grants[0])
			f.release(next)
			f.release(second.served(f))
			f.releaseLast(grants[2])
		},
	},
	{
		name:        "expired-permit",
		explanation: "When the lease of one holder has ended, its permit must be free, and no other.",
		needs:       []need{needsExpiry},
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
		name:        "same-owner-again",
		explanation: "An owner that shares a key must succeed again, with tokens that are not smaller, and must not take a second permit.",
		run: func(f *fixture) {
			key := f.key()
			r := f.permit(key, long)
			first := f.try(r)
			for range permits {
				f.mustRepeat(first, f.try(r))
			}
			f.allButOne(key)
			f.busy(f.permit(key, long))
			r = f.reader(f.key(), long)
			first = f.try(r)
			f.mustRepeat(first, f.try(r))
			f.release(first) // once is enough
			f.free(r.Key)
		},
	},
	{
		name:        "crowd",
		explanation: "Under a semaphore of n permits at most n functions of two processes may run at once, and each must get its turn.",
		run: func(f *fixture) {
			key := f.key()
			o := f.opts()
			o.Permits = permits
			var inside atomic.Int32
			f.turns(12, 4, func(l *distlock.Locker, _, _ int) error {
				return l.Do(f.Context(), key, o, func(context.Context) error {
					if n := inside.Add(1); n > permits {
						f.Errorf("%d run at once", n)
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

// allButOne takes all permits but one.
func (f *fixture) allButOne(key string) {
	f.Helper()
	for range permits - 1 {
		f.try(f.permit(key, long))
	}
}

// all takes every permit.
func (f *fixture) all(key string) []driver.Grant {
	f.Helper()
	grants := make([]driver.Grant, permits)
	for i := range grants {
		grants[i] = f.try(f.permit(key, long))
	}
	return grants
}
