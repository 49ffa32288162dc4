package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

var handoffCases = []testCase{
	{
		name: "once",
		explanation: "TryAcquire with Request.From must put the owner in the place of From, in one step. From then has lost the key: its renewals " +
			"and its Release are Lost, and nobody else can take its place.",
		run: func(p *process) {
			for _, ask := range p.modes() {
				g := p.try(ask(p.key(), long))
				h := p.heir(g)
				p.mustAdopt(h)
				p.mustHave(h, g)
				p.mustAdopt(h) // the reply before was lost
				other := p.heir(g)
				p.mustNotAdopt(other)
				next := p.last().heir(h.Grant())
				p.mustAdopt(next)
				p.mustHave(next, h.Grant())
				p.releaseLast(next.Grant())
				for _, late := range []driver.Request{h, other, next} {
					p.mustNotAdopt(late)
				}
				p.free(g.Key)
			}
		},
	},
	{
		name:        "lease",
		explanation: "The new owner must have at least a full TTL, and no less than what is left. A lease that has ended cannot be passed on.",
		run: func(p *process) {
			g := p.try(p.request(p.key(), p.Lease))
			h := p.heir(g)
			h.TTL = long
			if _, err := p.backend.TryAcquire(p.Context(), h); err != nil && !await.Running(g.Sent, g.TTL) {
				p.tooSlow()
			}
			p.mustAdopt(h)
			time.Sleep(2 * p.Lease)
			p.mustHave(h, g)
			next := p.heir(h.Grant())
			next.TTL = p.Lease
			p.mustAdopt(next)
			time.Sleep(2 * p.Lease)
			p.mustHave(next, h.Grant())
			p.releaseLast(next.Grant())

			g = p.try(p.request(g.Key, p.Lease))
			time.Sleep(2 * p.Lease)
			p.mustNotAdopt(p.heir(g))
			p.free(g.Key)
		},
	},
	{
		name:        "queue",
		explanation: "The change of owners must not let a waiter in. The waiter gets the key when the new owner releases it.",
		needs:       []need{needsQueue},
		run: func(p *process) {
			key, g := p.hold(long)
			w := queueUp(p.last(), p.request(key, long))
			h := p.heir(g)
			p.mustAdopt(h)
			w.mustWait(p)
			p.release(h.Grant())
			p.releaseLast(w.served(p))
		},
	},
	{
		name: "lost-reply",
		explanation: "Without a reply the outcome is open: the error must not wrap ErrLost. The owner must get the key when it asks again, " +
			"and nobody else may.",
		needs: []need{needsNetwork},
		run: func(p *process) {
			for _, fault := range []spoilnet.Fault{spoilnet.Lose, spoilnet.Snap, spoilnet.Deafen} {
				p.spoilHandOff(fault, func(s *trial, h driver.Request) {
					s.returned()
					s.mustBeOpen("TryAcquire with From", s.err)
					s.network.heal()
					s.over.mustAdopt(h)
					p.mustNotAdopt(p.heir(driver.Grant{Key: h.Key, Owner: h.From, TTL: long}))
				})
			}
		},
	},
	{
		name: "late-copy",
		explanation: "A copy of the request that arrives late must take nothing from an owner that has taken the place meanwhile, " +
			"or from the next one.",
		needs: []need{needsNetwork},
		run: func(p *process) {
			for _, fault := range []spoilnet.Fault{spoilnet.Repeat, spoilnet.Hold} {
				p.spoilHandOff(fault, func(s *trial, h driver.Request) {
					next := p.heir(driver.Grant{Key: h.Key, Owner: h.From, TTL: long})
					_, err := p.backend.TryAcquire(p.Context(), next)
					_ = s.network.faults.Send()
					s.returned()
					if (err == nil) == (s.err == nil) && fault == spoilnet.Hold {
						p.Errorf("two owners ask for one place, and get %v and %v", err, s.err)
					}
					if err != nil {
						s.network.heal()
						s.over.mustAdopt(h)
						return
					}
					p.mustHave(next, s.grant)
					p.mustHave(next, driver.Grant{Key: h.Key, Owner: h.From, TTL: long})
					p.release(next.Grant())
				})
			}
		},
	},
	{
		name:        "late-renewal",
		explanation: "A renewal of the giver that arrives when another owner has its place must be lost, and change nothing.",
		needs:       []need{needsNetwork},
		run: func(p *process) {
			over, n := p.overNetwork()
			for k := 1; k <= mostRequests; k++ {
				g := over.regain(over.request(p.key(), long))
				s := &trial{process: p, over: over, network: n, call: renewal, grant: g, holds: true, done: make(chan struct{})}
				struck := s.begin(spoilnet.Hold, k)
				h := p.heir(g)
				p.mustAdopt(h)
				_ = n.faults.Send()
				s.returned()
				if struck && k == 1 && s.err == nil { // a later write may follow the change
					p.Error("the renewal arrived after another owner had taken the place, and succeeded")
				}
				n.heal()
				p.mustHave(h, g)
				p.releaseLast(h.Grant())
				if !struck {
					return
				}
			}
		},
	},
}

// heir returns a request of a new owner, to which the owner of g has handed its lease off.
func (p *process) heir(g driver.Grant) driver.Request {
	r := p.request(g.Key, g.TTL)
	r.Mode, r.Permits, r.From = g.Mode, g.Permits, g.Owner
	return r
}

func (p *process) mustAdopt(r driver.Request) {
	p.Helper()
	p.held[r.Owner] = func() { _ = p.backend.Release(p.T.Context(), r.Grant()) }
	err := p.insist("TryAcquire with From", func() error { _, err := p.backend.TryAcquire(p.Context(), r); return err })
	if err != nil {
		p.Fatalf("From has the key, and TryAcquire has the error %v", err)
	}
}

func (p *process) mustNotAdopt(r driver.Request) {
	p.Helper()
	if _, err := p.backend.TryAcquire(p.Context(), r); !errors.Is(err, driver.ErrLost) {
		p.Errorf("neither the owner nor From has the key, and TryAcquire has the error %v", err)
	}
}

// mustHave checks that the owner of h has the key, and that of g has it no more.
func (p *process) mustHave(h driver.Request, g driver.Grant) {
	p.Helper()
	mustReport(p, renewAll(p, h.Grant(), g), nil, driver.ErrLost)
	p.releaseLost(g)
	mustReport(p, renewAll(p, h.Grant()), nil)
	if h.Sharing() == (driver.Sharing{}) {
		p.busy(p.request(h.Key, long))
	}
}

// spoilHandOff lets an owner take the place of another, over a network with the fault at the
// first request, then at the second, and so on.
func (p *process) spoilHandOff(fault spoilnet.Fault, check func(s *trial, h driver.Request)) {
	p.Helper()
	over, n := p.overNetwork()
	for k, struck := 1, true; struck && k <= mostRequests; k++ {
		h := p.heir(p.try(p.request(p.key(), long)))
		adopt := call{"TryAcquire with From", needsNothing, true, true, func(q *process, ctx context.Context, _ driver.Grant) (driver.Grant, error) {
			return q.backend.TryAcquire(ctx, h)
		}}
		s := &trial{process: p, over: over, network: n, call: adopt, grant: h.Grant(), done: make(chan struct{})}
		if struck = s.begin(fault, k); struck {
			check(s, h)
		}
		s.end()
		p.insistFree(h)
	}
}

// insistFree releases the key of both owners.
func (p *process) insistFree(h driver.Request) {
	p.Helper()
	for _, owner := range []string{h.Owner, h.From} {
		g := driver.Grant{Key: h.Key, Owner: owner, TTL: h.TTL}
		_ = p.insist("Release", func() error { return p.backend.Release(p.Context(), g) })
	}
}
