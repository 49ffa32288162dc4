package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var queueCases = []testCase{
	{
		name:        "free-key",
		explanation: "Acquire of a free key must return at once, without use of the Backoff.",
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
		explanation: "Waiters of all processes must be served in order of arrival, one for each release, with larger tokens, and long before their Backoff " +
			"makes them look again: a Locker does not poll a Queuer.",
		run: func(f *fixture) { f.inTurn("w", "wwwwww") },
	},
	{
		name:        "holder-crashed",
		explanation: "If the holder never releases, the next waiter must get the key when the lease has ended.",
		run: func(f *fixture) {
			key, g := f.hold(2 * f.Lease)
			first := f.queueUpLooking(g, f.request(key, f.Lease), f.Lease/2) // and it crashes too
			second := f.queueUpLooking(g, f.request(key, long), f.Lease/2)
			if !f.Bubble {
				select {
				case <-first.done:
				case <-second.done: // the first had not come back to its place when its turn came
					f.tooSlow()
				case <-time.After(patience):
				}
			}
			first.served(f)
			f.mustHaveEnded(g)
			f.releaseLast(second.served(f))
		},
	},
	{
		name:        "renewed-meanwhile",
		explanation: "A waiter must not get the key while the holder renews its lease.",
		run: func(f *fixture) {
			r := f.request(f.key(), 2*f.Lease)
			g := f.try(r)
			w := f.queueUpLooking(g, f.request(r.Key, long), f.Lease/3)
			for range 20 {
				time.Sleep(f.Lease / 4)
				g = f.extend(g, r, f.renewing)
			}
			f.calm()
			select {
			case <-w.done:
				f.mustHaveEnded(g)
				f.tooSlow()
			default:
			}
			f.giveUp(r)
			f.release(w.served(f))
		},
	},
	{
		name: "budget",
		explanation: "When r.Backoff is spent, Acquire must return an error that wraps ErrNotAcquired. That is after attempts-1 waits, " +
			"each between one interval and two, so with one attempt it must not wait.",
		run: func(f *fixture) {
			interval := f.Lease / 5
			key := f.key()
			f.try(f.request(key, long))
			for _, attempts := range []int{1, 4} {
				waits := time.Duration(attempts-1) * interval
				r := f.request(key, long)
				start := time.Now()
				r.Backoff = driver.NewBackoff(interval, attempts)
				w := f.wait(r)
				f.mustBeHeld(w.result(f, 2*waits+f.soon()))
				if d := time.Since(start); d < waits {
					f.Errorf("%d attempts with intervals of %v were over after %v", attempts, interval, d)
				}
				f.giveUp(r)
			}
		},
	},
	{
		name: "keeps-its-place",
		explanation: "A second Acquire with the same owner must have the place of the first: the Locker calls it after a failure of the backend, " +
			"and would otherwise lose its place each time.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			r := f.request(key, long)
			f.takePlace(r)
			second := f.queueUp(f.request(key, long))
			first := f.queueUp(r)
			f.release(g)
			g = first.served(f)
			second.mustWait(f)
			f.release(g)
			f.releaseLast(second.served(f))
		},
	},
	{
		name: "granted-while-away",
		explanation: "An owner may be granted the key between two calls of Acquire. Release must then pass it on like any grant: " +
			"a waiter leaves that way when its context has ended.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			away := f.request(key, long)
			f.takePlace(away)
			w := f.queueUp(f.request(key, long))
			f.release(g)
			f.giveUp(away)
			f.releaseLast(w.served(f))
		},
	},
	{
		name:        "keys-are-apart",
		explanation: "Each key must have its own queue.",
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
