package locktest

import "time"

var idempotenceCases = []testCase{
	{
		name: "same-owner-again",
		explanation: "TryAcquire and Enqueue by an owner that has the key must succeed, with tokens that are not smaller than at first, and must not take a second permit: " +
			"a reply can be lost after the store has acted, and an owner that tries again must not wait for itself.",
		run: func(p *process) {
			for _, ask := range p.modes() {
				r := ask(p.key(), long)
				r.Tokens = 8
				first := p.try(r)
				for range permits {
					p.mustRepeat(first, p.try(r))
				}
				if p.queue != nil {
					before := time.Now()
					g, err := p.queue.Enqueue(p.Context(), r)
					if err != nil {
						p.Fatalf("Enqueue by the holder: %v", err)
					}
					p.inspect(g, r, before)
					p.mustRepeat(first, g)
				}
				if r.Permits > 0 {
					for _, other := range p.take(r.Key, permits-1) {
						p.release(other)
					}
				}
				p.busy(p.request(r.Key, long))
				p.releaseLast(first) // once is enough
			}
		},
	},
}
