package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var sharedCases = []testCase{
	{
		name:        "writer-waits-for-all",
		explanation: "A waiting writer must get the key at once when the last reader has released, and not before.",
		needs:       []need{needsQueue},
		run:         func(f *fixture) { f.inTurn("rrr", "w") },
	},
	{
		name: "later-readers-wait",
		explanation: "A reader that arrives after a waiting writer must wait behind it, even if other readers have the key: " +
			"otherwise readers that come and go would keep the writer out.",
		needs: []need{needsQueue},
		run:   func(f *fixture) { f.inTurn("r", "wr") },
	},
	{
		name:        "next-readers-together",
		explanation: "When a reader is first in the queue, all readers up to the next writer must get the key together.",
		needs:       []need{needsQueue},
		run:         func(f *fixture) { f.inTurn("w", "rrrwr") },
	},
	{
		name:        "writer-leaves-the-queue",
		explanation: "When a waiting writer gives up its place, the readers behind it must get the key.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.reader(key, long))
			gone := f.request(key, long)
			f.takePlace(gone)
			w := f.queueUp(f.reader(key, long))
			f.giveUp(gone)
			f.release(w.served(f))
			f.releaseLast(g)
		},
	},
	{
		name:        "crashed-with-waiters",
		explanation: "If a reader or the holder of a permit never releases, the next waiter must get its place when its lease has ended.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.reader(key, 2*f.Lease))
			writer := f.queueUpLooking(g, f.request(key, long), f.Lease/2).served(f)
			f.mustHaveEnded(g)
			f.releaseLast(writer)
			f.take(key, permits-1)
			g = f.try(f.permit(key, 2*f.Lease))
			f.queueUpLooking(g, f.permit(key, long), f.Lease/2).served(f)
			f.busy(f.permit(key, long))
		},
	},
	{
		name:        "each-its-own-lease",
		explanation: "Each reader has its own lease: the end of one must not end another, and the longest keeps a writer out.",
		run: func(f *fixture) {
			key := f.key()
			longer := f.try(f.reader(key, 4*f.Lease))
			short := f.try(f.reader(key, f.Lease))
			time.Sleep(2 * f.Lease)
			f.want(f.renewAll(short), driver.Lost)
			f.mustStillHold(longer)
			f.seize(f.request(key, long), 2*f.Lease)
		},
	},
	{
		name:        "renewal-of-one",
		explanation: "Renew must extend the lease of the reader, or holder of a permit, that it is called for, and no other.",
		run: func(f *fixture) {
			for _, ask := range f.modes()[1:] {
				r := ask(f.key(), f.Lease)
				crashed := f.try(ask(r.Key, f.Lease))
				f.keepAlive(r, f.renewing)
				f.want(f.renewAll(crashed), driver.Lost)
			}
		},
	},
	{
		name:        "release-of-one",
		explanation: "Release by one reader must not change the others.",
		run: func(f *fixture) {
			key := f.key()
			one, other := f.try(f.reader(key, long)), f.try(f.reader(key, long))
			f.release(one)
			f.busy(f.request(key, long))
			f.want(f.renewAll(one, other), driver.Lost, driver.Renewed)
			f.giveUp(driver.Request{Key: key, Owner: one.Owner, TTL: one.TTL, Mode: one.Mode}) // again
			f.releaseLost(f.request(key, long).Grant())
			f.busy(f.request(key, long))
			f.want(f.renewAll(other), driver.Renewed)
			f.releaseLast(other)
		},
	},
	{
		name: "tokens-rise",
		explanation: "The tokens of readers, of writers and of holders of permits must rise in the order of the grants, even among those that " +
			"hold the key together: a resource that has seen a later token refuses an earlier one.",
		needs: []need{needsTokens},
		run: func(f *fixture) {
			key, last := f.hold(long)
			for range 4 {
				for _, ask := range f.modes() {
					f.release(last)
					r := ask(key, long)
					r.Tokens = 16
					next := f.try(r)
					f.mustRise(last, next)
					if last = next; next.Sharing() != (driver.Sharing{}) {
						last = f.try(ask(key, long))
						f.mustRise(next, last)
						f.release(next)
					}
				}
			}
		},
	},
	{
		name: "admits",
		explanation: "TryAcquire must grant a key beside its holders exactly if driver.Sharing.Admits says so: " +
			"the Locker decides by it inside a process, and two processes must decide alike.",
		run: func(f *fixture) {
			other := f.last()
			for _, has := range sharings {
				for _, asks := range sharings {
					key := f.key()
					for n := 0; n <= 3; n++ {
						other.mustAgree(key, n, has, asks)
						if !has.Admits(n, has) {
							break
						}
						f.try(f.asking(key, has))
					}
				}
			}
		},
	},
	{
		name:        "crowd",
		explanation: "A function under a writer's lock must not overlap with any other, in one process or two, and each must get its turn.",
		run: func(f *fixture) {
			reader := driver.Sharing{Mode: driver.Shared}
			f.crowd(reader, reader, reader, driver.Sharing{})
		},
	},
}

// sharings are the small ways of sharing a key.
var sharings = []driver.Sharing{
	{Mode: driver.Exclusive}, {Mode: driver.Shared}, {Permits: 1}, {Permits: 2}, {Permits: 3},
}

// asking returns a request of a new owner with that sharing.
func (f *fixture) asking(key string, s driver.Sharing) driver.Request {
	r := f.request(key, long)
	r.Mode, r.Permits = s.Mode, s.Permits
	return r
}

// mustAgree checks that TryAcquire with the sharing asks succeeds exactly if Admits says so,
// while n holders have the key with the sharing has.
func (f *fixture) mustAgree(key string, n int, has, asks driver.Sharing) {
	f.Helper()
	r := f.asking(key, asks)
	g, err := f.attempt(r)
	admitted := has.Admits(n, asks)
	if admitted && err != nil && f.Settle > 0 {
		g, err = f.try(r), nil
	}
	if admitted != (err == nil) {
		f.Errorf("%d holders with %+v, and TryAcquire with %+v returned the error %v; Admits returned %v", n, has, asks, err, admitted)
	}
	if err == nil {
		f.release(g)
	} else {
		f.mustBeHeld(err)
	}
}
