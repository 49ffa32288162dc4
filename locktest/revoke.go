package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var revokeCases = []testCase{
	{
		name: "asks",
		explanation: "Revoke must close the channel of the holder, whichever process asks, and must take nothing away. " +
			"When Revoked has returned, no request must be missed.",
		run: func(p *process) {
			other := p.last().revoker
			g := p.try(p.request(p.key(), long))
			asked := p.revoker.Revoked(p.Context(), g)
			p.mustSay(true, other.Revoke, g.Key)
			select {
			case <-asked:
			case <-time.After(patience):
				p.Fatal("the holder was not told of a request after Revoked had returned")
			}
			mustStillHold(p, g)
			p.release(g)
		},
	},
	{
		name:        "readers",
		explanation: "Revoke must ask all holders of the key.",
		needs:       []need{needsShare},
		run: func(p *process) {
			key := p.key()
			one, two := p.try(p.reader(key, long)), p.try(p.reader(key, long))
			mustRevoke(p, p.revoker, key, p.revoker.Revoked(p.Context(), one), p.revoker.Revoked(p.Context(), two))
			p.release(one)
			p.release(two)
		},
	},
	{
		name: "only-this-holder",
		explanation: "A request is for the present holders of one key: neither another key nor the next holder is asked. " +
			"Revoke of a free key must say that it is not held.",
		run: func(p *process) {
			key, g := p.hold(long)
			_, other := p.hold(long)
			otherAsked := p.revoker.Revoked(p.Context(), other)
			mustRevoke(p, p.revoker, key, p.revoker.Revoked(p.Context(), g))
			p.release(g)
			p.mustSay(false, p.revoker.Revoke, key)
			next := p.try(p.request(key, long))
			nextAsked := p.revoker.Revoked(p.Context(), next)
			mustNotBeAsked(p, otherAsked)
			mustNotBeAsked(p, nextAsked)
			p.release(next)
			p.mustSay(false, p.revoker.Revoke, key)
			p.mustSay(false, p.revoker.Revoke, p.key())
		},
	},
}

// mustRevoke asks until all channels are closed: a request may be lost.
func mustRevoke(p *process, r driver.Revoker, key string, asked ...<-chan struct{}) {
	p.Helper()
	end := time.After(patience)
	for _, asked := range asked {
		for told := false; !told; {
			p.mustSay(true, r.Revoke, key)
			select {
			case <-asked:
				told = true
			case <-time.After(20 * p.tick()):
			case <-end:
				p.Fatalf("the holder was not told within %v", patience)
			}
		}
	}
}

// mustNotBeAsked checks that the holder was not asked.
func mustNotBeAsked(p *process, asked <-chan struct{}) {
	p.Helper()
	p.calm()
	select {
	case <-asked:
		p.Fatal("a holder was asked that must not be")
	default:
	}
}
