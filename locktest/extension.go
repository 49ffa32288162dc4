package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
)

// more extends a grant. Its key must not have waiters.
func more(p *process, g driver.Grant, tokens int) driver.Grant {
	p.Helper()
	before := time.Now()
	more, err := p.extender.Extend(p.Context(), g, tokens)
	if err != nil {
		p.Fatalf("Extend by the holder: %v", err)
	}
	r := driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL, Mode: g.Mode, Permits: g.Permits, Tokens: tokens}
	p.inspect(more, r, before)
	return more
}

// extend makes a call that extends the lease of the holder, and returns the grant with
// the new lease.
func extend(p *process, g driver.Grant, r driver.Request, c call) driver.Grant {
	p.Helper()
	mustStillHold(p, g)
	sent := time.Now()
	switch _, err := c.run(p, p.Context(), r.Grant()); {
	case err == nil:
		g.Sent, g.TTL = sent, r.TTL
	case await.Running(g.Sent, g.TTL):
		p.Fatalf("the holder lost the key %v after its last request, with a lease of %v: %v", time.Since(g.Sent), g.TTL, err)
	default:
		p.tooSlow()
	}
	return g
}

// keepAlive acquires a key, and extends the lease often until it has lasted for several
// times its TTL.
func keepAlive(p *process, r driver.Request, c call) driver.Grant {
	p.Helper()
	g := p.try(r)
	for end := time.Now().Add(2 * r.TTL); time.Now().Before(end); time.Sleep(r.TTL / 10) {
		g = extend(p, g, r, c)
	}
	return g
}

// eachLateRequest acquires a key for each request that extends a lease, in each mode. It calls
// do with the grant, which is long, and a function that sends the request with the TTL
// Features.Lease. To a store that is the arrival of a late copy; the result does not count.
func eachLateRequest(p *process, do func(g driver.Grant, arrives func())) {
	p.Helper()
	for _, ask := range p.modes() {
		for _, c := range extensions(p) {
			r := ask(p.key(), long)
			g := p.try(r)
			r.TTL = p.Lease
			do(g, func() { _, _ = c.run(p, p.Context(), r.Grant()) })
		}
	}
}
