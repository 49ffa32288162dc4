package locktest

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// lockerCases are about a Locker with the backend: what the users of the backend get.
var lockerCases = []testCase{
	{
		name: "crowd",
		explanation: "Many goroutines of two processes that use a key must all be served, one at a time, " +
			"with tokens that rise in the order of the grants.",
		run: func(p *process) { crowd(p, driver.Sharing{}) },
	},
	{
		name: "loss-is-told",
		explanation: "If the store has forgotten the holder and granted the key to another owner, the next renewal cancels the context of the function " +
			"with cause ErrLost. Release reports ErrLost, and the new holder keeps the key.",
		needs: []need{needsDrop},
		run: func(p *process) {
			key := p.key()
			o := distlock.Opts{KeyTimeout: 2 * p.Lease}
			s, err := locker(p, p.backend, distlock.Config{}).Acquire(p.Context(), key, o)
			if err != nil {
				p.Fatalf("Acquire of a free key: %v", err)
			}
			p.Cleanup(func() { _ = s.Release(context.WithoutCancel(p.Context())) })
			p.Drop(p.T, p.backend, key)
			g := p.try(p.request(key, long))
			select {
			case <-s.Context().Done():
			case <-time.After(o.KeyTimeout + p.soon()):
				p.Fatal("the context of a lost lease has not ended")
			}
			p.mustBeLost(context.Cause(s.Context()))
			p.mustBeLost(s.Check())
			p.mustBeLost(s.Refresh(p.Context()))
			p.mustBeLost(s.Release(p.Context()))
			p.busy(p.request(key, long))
			mustReport(p, renewAll(p, g), nil)
			p.release(g)
		},
	},
}
