package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var queueCases = []testCase{
	{
		name:        "free-key",
		explanation: "Acquire of a free key returns at once, without a look at the Backoff.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			r := f.request(f.key(), long)
			r.Backoff = driver.NewBackoff(time.Minute, 1)
			w := f.wait(r)
			f.release(w.served(f))
			f.free(r.Key)
		},
	},
	{
		name: "in-order-of-arrival",
		explanation: "Waiters are served in the order of their arrival, one for each release, and long before they would look by themselves: " +
			"a Locker does not poll a Queuer.",
		needs: []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			const waiters = 6
			line := f.line()
			for range waiters {
				line.join(f.request(key, long))
			}
			for range waiters {
				line.mustWait()
				f.release(g)
				g = line.next()
			}
			f.release(g)
			f.free(key)
		},
	},
	{
		name:        "over-processes",
		explanation: "A release in one process wakes whoever waits in another.",
		needs:       []need{needsQueue, needsPeer},
		run: func(f *fixture) {
			peer := f.peer()
			other, ok := peer.(driver.Queuer)
			if !ok {
				f.Fatal("the peer is not a Queuer")
			}
			key := f.key()
			g := f.try(f.request(key, long))
			const waiters = 4
			line := f.line()
			for i := range waiters {
				q := f.queue
				if i%2 == 0 {
					q = other
				}
				line.joinOn(q, f.request(key, long))
			}
			for range waiters {
				f.release(g)
				g = line.next()
			}
			f.release(g)
			f.free(key)
		},
	},
	{
		name:        "holder-crashed",
		explanation: "If the holder never releases, the line must move on when its lease has ended.",
		needs:       []need{needsQueue, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, 2*f.Lease))
			first := f.queueUpLooking(g, f.request(key, f.Lease), f.Lease/2) // and crashes as well
			second := f.queueUpLooking(g, f.request(key, long), f.Lease/2)
			if !f.Bubble {
				select {
				case <-first.done:
				case <-second.done: // the first was not back in its place when it was its turn
					f.tooSlow()
				case <-time.After(patience):
				}
			}
			first.served(f)
			f.mustHaveEnded(g)
			f.release(second.served(f))
			f.free(key)
		},
	},
	{
		name:        "renewed-meanwhile",
		explanation: "A waiter must not get the key while the holder renews its lease.",
		needs:       []need{needsQueue, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, 2*f.Lease))
			w := f.queueUpLooking(g, f.request(key, long), f.Lease/3)
			for end := time.Now().Add(5 * f.Lease); time.Now().Before(end); time.Sleep(f.Lease / 10) {
				sent := time.Now()
				if f.renew(g) == driver.Lost {
					if running(g.Sent, g.TTL) {
						f.Fatalf("the holder lost the key %v after its last request", time.Since(g.Sent))
					}
					f.tooSlow()
				}
				g.Sent = sent
			}
			f.calm()
			select {
			case <-w.done:
				f.mustHaveEnded(g)
				f.tooSlow()
			default:
			}
			f.releaseInTime(g)
			f.release(w.served(f))
		},
	},
	{
		name: "budget",
		explanation: "When r.Backoff is spent, Acquire must return an error that wraps ErrNotAcquired: after attempts-1 intervals, " +
			"each between the interval and its double.",
		needs: []need{needsQueue},
		run: func(f *fixture) {
			const attempts = 4
			interval := f.Lease / 5
			key := f.key()
			f.try(f.request(key, long))
			r := f.request(key, long)
			start := time.Now()
			r.Backoff = driver.NewBackoff(interval, attempts)
			w := f.wait(r)
			f.mustBeHeld(w.grant, w.failed(f, 2*(attempts-1)*interval))
			if d := time.Since(start); d < (attempts-1)*interval {
				f.Errorf("%d attempts with intervals of %v were over after %v", attempts, interval, d)
			}
		},
	},
	{
		name:        "one-attempt",
		explanation: "A budget of one attempt must not wait at all.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			f.try(f.request(key, long))
			r := f.request(key, long)
			r.Backoff = driver.NewBackoff(2*patience, 1)
			w := f.wait(r)
			f.mustBeHeld(w.grant, w.failed(f, 0))
			f.giveUp(r)
		},
	},
	{
		name: "keeps-its-place",
		explanation: "Whoever calls Acquire again with the same owner must stand where it stood: the Locker does so after a failure of the backend, " +
			"and would otherwise be overtaken for ever by those who do not fail.",
		needs: []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			line := f.line()
			first := f.request(key, long)
			line.takePlace(first)
			line.join(f.request(key, long))
			line.join(first)
			f.release(g)
			f.release(line.next())
			f.release(line.next())
			f.free(key)
		},
	},
	{
		name: "release-gives-up-the-place",
		explanation: "Release must give up the place of an owner that waits in line. Otherwise the key comes to somebody who has left, " +
			"and is blocked for as long as the store needs to notice.",
		needs: []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			gone := f.request(key, long)
			f.takePlace(gone)
			w := f.queueUp(f.request(key, long))
			f.giveUp(gone)
			f.want(f.renewAll(g), driver.Renewed) // the holder does not notice
			w.mustWait(f)
			f.release(g)
			f.release(w.served(f))
			f.free(key)
		},
	},
	{
		name: "granted-while-away",
		explanation: "If the key comes to an owner between two calls of Acquire, Release must pass it on like any grant: " +
			"that is how a waiter whose context ended leaves.",
		needs: []need{needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			away := f.request(key, long)
			f.takePlace(away)
			w := f.queueUp(f.request(key, long))
			f.release(g)
			f.giveUp(away)
			f.release(w.served(f))
			f.free(key)
		},
	},
	{
		name:        "keys-are-apart",
		explanation: "Each key has a line of its own.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			busy, key := f.key(), f.key()
			f.try(f.request(busy, long))
			blocked := f.queueUp(f.request(busy, long))
			g := f.try(f.request(key, long))
			w := f.queueUp(f.request(key, long))
			f.release(g)
			f.release(w.served(f))
			blocked.mustWait(f)
		},
	},
}
