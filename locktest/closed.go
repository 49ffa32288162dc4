package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
)

// closedCases close a Backend, and look from the backend of another process. What the store
// promises does not end with the process that it was promised to.
var closedCases = []testCase{
	{
		name: "retained",
		explanation: "A key that was renewed with Retain must be kept for that time, and no longer, after the backend was closed: " +
			"a job with MinHold would run again as soon as its process has ended.",
		run: func(p *process) {
			var retained []driver.Grant
			for _, ask := range p.modes() {
				for _, ttl := range []time.Duration{3 * p.Lease, long} {
					g := p.try(ask(p.key(), p.Lease))
					before := g.Sent
					g.TTL, g.Retain, g.Sent = ttl, true, time.Now()
					results := renewAll(p, g)
					if errors.Is(results[0], driver.ErrLost) && !await.Running(before, p.Lease) {
						p.tooSlow()
					}
					mustReport(p, results, nil)
					retained = append(retained, g)
				}
			}
			peer := p.peer()
			p.close()
			for _, g := range retained {
				if g.TTL == long {
					peer.busy(peer.request(g.Key, long))
					continue
				}
				other := peer.seize(peer.request(g.Key, long), g.TTL+p.soon()) // a store may count in seconds
				peer.mustHaveEnded(g)
				peer.releaseLast(other)
			}
		},
	},
	{
		name: "given-up",
		explanation: "A key that was released, and one that a caller has stopped to wait for, must be free after the backend was closed, " +
			"even if the context of the call had ended: nobody is left that would try again.",
		run: func(p *process) {
			ended, cancel := context.WithCancel(p.Context())
			cancel()
			var keys []string
			for _, ask := range p.modes() {
				g := p.try(ask(p.key(), p.Lease))
				_ = p.backend.Release(ended, g)
				delete(p.held, g.Owner)
				waiter := p.request(g.Key, p.Lease)
				_, _ = p.backend.TryAcquire(ended, waiter)
				_ = p.backend.Release(ended, waiter.Grant())
				keys = append(keys, g.Key)
			}
			peer := p.peer()
			p.close()
			for _, key := range keys {
				peer.release(peer.seize(peer.request(key, long), p.Lease))
			}
		},
	},
}
