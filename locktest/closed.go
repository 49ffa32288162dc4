package locktest

import (
	"context"
	"io"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// closedCases close a Backend, and look from that of another process. What the store promises
// does not end with the process that it was promised to.
var closedCases = []testCase{
	{
		name: "retained",
		explanation: "A key that was renewed with Retain must be kept for that time, and no longer, after the backend was closed: " +
			"a job with MinHold would run again as soon as its process has ended.",
		run: func(f *fixture) {
			var retained []driver.Grant
			for _, ask := range f.modes() {
				for _, ttl := range []time.Duration{3 * f.Lease, long} {
					g := f.try(ask(f.key(), f.Lease))
					before := g.Sent
					g.TTL, g.Retain, g.Sent = ttl, true, time.Now()
					results := f.renewAll(g)
					if results[0].Status == driver.Lost && !running(before, f.Lease) {
						f.tooSlow()
					}
					f.want(results, driver.Renewed)
					retained = append(retained, g)
				}
			}
			peer := f.close()
			for _, g := range retained {
				if g.TTL == long {
					peer.busy(peer.request(g.Key, long))
					continue
				}
				other := peer.seize(peer.request(g.Key, long), g.TTL)
				peer.mustHaveEnded(g)
				peer.releaseLast(other)
			}
		},
	},
	{
		name: "given-up",
		explanation: "A key that was released, and one that a caller has stopped to wait for, must be free after the backend was closed, " +
			"even if the context of the call had ended: nobody is left that would try again.",
		run: func(f *fixture) {
			ended, cancel := context.WithCancel(f.Context())
			cancel()
			var keys []string
			for _, ask := range f.modes() {
				g := f.try(ask(f.key(), f.Lease))
				_ = f.backend.Release(ended, g)
				delete(f.held, g.Owner)
				waiter := f.request(g.Key, f.Lease)
				_, _ = f.backend.TryAcquire(ended, waiter)
				_ = f.backend.Release(ended, waiter.Grant())
				keys = append(keys, g.Key)
			}
			peer := f.close()
			for _, key := range keys {
				peer.release(peer.seize(peer.request(key, long), f.Lease))
			}
		},
	},
}

// close closes the backend, and returns the fixture of another process.
func (f *fixture) close() *fixture {
	f.Helper()
	peer := f.peer()
	c := f.backend.(io.Closer) //nolint:forcetypeassert // needsClose
	if f.closed[c] = true; c.Close() != nil {
		f.Error("Close failed")
	}
	clear(f.held)
	return peer
}
