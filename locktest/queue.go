package locktest

import "time"

var queueCases = []testCase{
	{
		name:        "free-key",
		explanation: "Enqueue of a free key must be granted at once.",
		run: func(p *process) {
			r := p.request(p.key(), long)
			before := time.Now()
			g, err := p.queue.Enqueue(p.Context(), r)
			if err != nil {
				p.Fatalf("Enqueue of a free key: %v", err)
			}
			p.inspect(g, r, before)
			p.release(g)
			p.free(r.Key)
		},
	},
	{
		name: "in-order-of-arrival",
		explanation: "Waiters of all processes must be served in order of arrival, one for each release, with larger tokens, and long before they " +
			"would look by themselves: a Locker does not poll a Queuer.",
		run: func(p *process) { inTurn(p, "w", "wwwwww") },
	},
	{
		name:        "holder-crashed",
		explanation: "If the holder never releases, the next waiter must get the key when the lease has ended.",
		run: func(p *process) {
			key, g := p.hold(2 * p.Lease)
			first := queueUpLooking(p, g, p.request(key, p.Lease), p.Lease/2) // and it crashes too
			second := queueUpLooking(p, g, p.request(key, long), p.Lease/2)
			if !p.Bubble {
				select {
				case <-first.done:
				case <-second.done: // the first had not come back to its place when its turn came
					p.tooSlow()
				case <-time.After(patience):
				}
			}
			first.served(p)
			p.mustHaveEnded(g)
			p.releaseLast(second.served(p))
		},
	},
	{
		name:        "renewed-meanwhile",
		explanation: "A waiter must not get the key while the holder renews its lease.",
		run: func(p *process) {
			r := p.request(p.key(), 2*p.Lease)
			g := p.try(r)
			w := queueUpLooking(p, g, p.request(r.Key, long), p.Lease/3)
			for range 20 {
				time.Sleep(p.Lease / 4)
				g = extend(p, g, r, renewal)
			}
			p.calm()
			select {
			case <-w.done:
				p.mustHaveEnded(g)
				p.tooSlow()
			default:
			}
			p.giveUp(r)
			p.release(w.served(p))
		},
	},
	{
		name: "keeps-its-place",
		explanation: "A second Acquire with the same owner must have the place of the first: the Locker calls it after a failure of the backend, " +
			"and would otherwise lose its place each time.",
		run: func(p *process) {
			key, g := p.hold(long)
			r := p.request(key, long)
			takePlace(p, r)
			second := queueUp(p, p.request(key, long))
			first := queueUp(p, r)
			p.release(g)
			g = first.served(p)
			second.mustWait(p)
			p.release(g)
			p.releaseLast(second.served(p))
		},
	},
	{
		name: "granted-while-away",
		explanation: "An owner may be granted the key between two calls of Acquire. Release must then pass it on like any grant: " +
			"a waiter leaves that way when its context has ended.",
		run: func(p *process) {
			key, g := p.hold(long)
			away := p.request(key, long)
			takePlace(p, away)
			w := queueUp(p, p.request(key, long))
			p.release(g)
			p.giveUp(away)
			p.releaseLast(w.served(p))
		},
	},
	{
		name:        "keys-are-apart",
		explanation: "Each key must have its own queue.",
		run: func(p *process) {
			busy, key := p.key(), p.key()
			p.try(p.request(busy, long))
			blocked := queueUp(p, p.request(busy, long))
			g := p.try(p.request(key, long))
			w := queueUp(p, p.request(key, long))
			p.release(g)
			p.release(w.served(p))
			blocked.mustWait(p)
		},
	},
}
