package locktest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

var sharedCases = []testCase{
	{
		name:        "writer-waits-for-all",
		explanation: "A waiting writer must get the key at once when the last reader has released, and not before.",
		needs:       []need{needsShare, needsQueue},
		run: func(f *fixture) {
			key := f.key()
			var readers []driver.Grant
			for range 3 {
				readers = append(readers, f.try(f.reader(key, long)))
			}
			w := f.queueUp(f.request(key, long))
			for _, g := range readers {
				w.mustWait(f)
				f.release(g)
			}
			f.release(w.served(f))
			f.free(key)
		},
	},
	{
		name: "later-readers-wait",
		explanation: "A reader that arrives after a waiting writer must wait behind it, even if other readers have the key: " +
			"otherwise readers that come and go would keep the writer out.",
		needs: []need{needsShare, needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.reader(key, long))
			queue := f.waitQueue()
			queue.join(f.request(key, long))
			f.busy(f.reader(key, long))
			queue.join(f.reader(key, long))
			queue.mustWait()
			f.release(g)
			writer := queue.next()
			queue.mustWait()
			f.release(writer)
			f.release(queue.next())
			f.free(key)
		},
	},
	{
		name:        "next-readers-together",
		explanation: "When a reader is first in the queue, all readers up to the next writer must get the key together.",
		needs:       []need{needsShare, needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			var readers []*waiter
			for range 3 {
				readers = append(readers, f.queueUp(f.reader(key, long)))
			}
			writer := f.queueUp(f.request(key, long))
			last := f.queueUp(f.reader(key, long))
			f.release(g)
			for _, w := range readers { // all are served before one is released
				w.served(f)
			}
			for _, w := range readers {
				writer.mustWait(f)
				last.mustWait(f)
				f.release(w.grant)
			}
			f.release(writer.served(f))
			f.release(last.served(f))
			f.free(key)
		},
	},
	{
		name:        "writer-leaves-the-queue",
		explanation: "When a waiting writer gives up its place, the readers behind it must get the key.",
		needs:       []need{needsShare, needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.reader(key, long))
			gone := f.request(key, long)
			f.takePlace(gone)
			w := f.queueUp(f.reader(key, long))
			f.giveUp(gone)
			f.release(w.served(f))
			f.release(g)
			f.free(key)
		},
	},
	{
		name:        "crashed-reader-with-waiters",
		explanation: "If a reader never releases, the next waiter must get the key when its lease has ended.",
		needs:       []need{needsShare, needsQueue, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.reader(key, 2*f.Lease))
			writer := f.queueUpLooking(g, f.request(key, long), f.Lease/2).served(f)
			f.mustHaveEnded(g)
			f.release(writer)
			f.free(key)
		},
	},
	{
		name:        "each-its-own-lease",
		explanation: "Each reader has its own lease: the end of one must not end another, and the longest keeps a writer out.",
		needs:       []need{needsShare, needsExpiry},
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
		needs:       []need{needsShare, needsExpiry},
		run: func(f *fixture) {
			f.renewOne(f.reader)
			f.renewOne(f.permit)
		},
	},
	{
		name:        "release-of-one",
		explanation: "Release by one reader must not change the others.",
		needs:       []need{needsShare},
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
			f.release(other)
			f.free(key)
		},
	},
	{
		name: "tokens-rise",
		explanation: "The tokens of readers and writers must rise in the order of the grants, even among readers that hold the key together: " +
			"a resource that has seen a later token refuses an earlier one.",
		needs: []need{needsShare, needsTokens},
		run: func(f *fixture) {
			key := f.key()
			last := f.try(f.request(key, long))
			for range 4 {
				f.release(last)
				one := f.reader(key, long)
				one.Tokens = 16
				first := f.try(one)
				f.mustRise(last, first)
				second := f.try(f.reader(key, long))
				f.mustRise(first, second)
				f.release(first)
				f.release(second)
				last = f.try(f.request(key, long))
				f.mustRise(second, last)
			}
		},
	},
	{
		name:        "two-peers",
		explanation: "Readers and writers of two processes must exclude each other like those of one.",
		needs:       []need{needsShare, needsPeer},
		run: func(f *fixture) {
			peer := f.peer()
			key := f.key()
			here, there := f.try(f.reader(key, long)), f.tryOn(peer, f.reader(key, long))
			f.busy(f.request(key, long))
			f.busyOn(peer, f.request(key, long))
			f.release(here)
			f.busy(f.request(key, long))
			f.releaseOn(peer, there)
			g := f.tryOn(peer, f.request(key, long))
			f.busy(f.reader(key, long))
			f.releaseOn(peer, g)
			f.free(key)
		},
	},
	{
		name: "admits",
		explanation: "TryAcquire must grant a key beside its holders exactly if driver.Sharing.Admits says so: " +
			"the Locker decides by it inside a process, and two processes must decide alike.",
		needs: []need{needsShare},
		run: func(f *fixture) {
			for _, has := range sharings {
				for _, asks := range sharings {
					key := f.key()
					for n := 0; n <= 3; n++ {
						f.mustAgree(key, n, has, asks)
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
		needs:       []need{needsShare},
		run: func(f *fixture) {
			key := f.key()
			var readers, writers atomic.Int32
			read := func(context.Context) error {
				readers.Add(1)
				defer readers.Add(-1)
				time.Sleep(f.tick())
				if n := writers.Load(); n != 0 {
					f.Errorf("%d writers while another function reads", n)
				}
				return nil
			}
			write := func(context.Context) error {
				if n := writers.Add(1); n != 1 {
					f.Errorf("%d writers at once", n)
				}
				defer writers.Add(-1)
				time.Sleep(f.tick())
				if n := readers.Load(); n != 0 {
					f.Errorf("%d readers while another function writes", n)
				}
				return nil
			}
			f.turns(16, 4, func(l *distlock.Locker, i, round int) error {
				o, do := f.opts(), write
				if (i/2+round)%4 != 0 {
					o.Mode, do = driver.Shared, read
				}
				return l.Do(f.Context(), key, o, do)
			})
			f.eventuallyFree(key)
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
	g, err := f.backend.TryAcquire(f.Context(), r)
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
		f.mustBeHeld(g, err)
	}
}

// renewOne keeps one of two leases of a shared key alive, and lets the other end.
func (f *fixture) renewOne(ask func(key string, ttl time.Duration) driver.Request) {
	f.Helper()
	key := f.key()
	g, crashed := f.try(ask(key, f.Lease)), f.try(ask(key, f.Lease))
	g = f.keepAlive(g, func() (time.Time, bool) {
		sent := time.Now()
		return sent, f.renew(g) == driver.Renewed
	})
	f.want(f.renewAll(crashed), driver.Lost)
	f.releaseInTime(g)
	f.free(key)
}
