package locktest

import (
	"time"
)

var tokensCases = []testCase{
	{
		name: "rise-over-release",
		explanation: "The tokens of a grant must be larger than all tokens of all earlier grants of the key: a resource that remembers " +
			"the largest refuses late writes. Those from Token to LastToken belong to one grant, even if it uses only one of them. " +
			"A grant may have fewer than asked for, but at least one.",
		run: func(p *process) {
			key, g := p.hold(long)
			for _, n := range []int{1, 10, 1, 64, 1, 1, 1000, 3, 64, 64} {
				p.release(g)
				r := p.request(key, long)
				r.Tokens = n
				next := p.try(r) // checks the number of tokens
				p.mustRise(g, next)
				g = next
			}
		},
	},
	{
		name:        "rise-over-expiry",
		explanation: "Tokens must rise when a lease has expired, whichever owner takes the key next: the last holder may still be running.",
		run: func(p *process) {
			key, first := p.hold(p.Lease)
			r := p.request(key, p.Lease)
			second := p.seize(r, p.Lease)
			p.mustRise(first, second)
			third := p.seize(p.request(key, p.Lease), p.Lease)
			p.mustRise(second, third)
			time.Sleep(2 * p.Lease) // the store may have deleted what expires
			p.mustRise(third, p.seize(r, 0))
		},
	},
}
