package locktest

import "time"

var queueCases = []testCase{
	{
		name:        "free-key",
		explanation: "Enqueue of a free key must be granted at once.",
		run: func(f *fixture) {
			r := f.request(f.key(), long)
			before := time.Now()
			g, err := f.queue.Enqueue(f.Context(), r)
			if err != nil {
				f.Fatalf("Enqueue of a free key: %v", err)
			}
			f.inspect(g, r, before)
			f.release(g)
			f.free(r.Key)
		},
	},
	{
		name: "in-order-of-arrival",
		explanation: "Waiters of all processes must be served in order of arrival, one for each release, with larger tokens, and long before they " +
			"would look by themselves: a Locker does not poll a Queuer.",
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
