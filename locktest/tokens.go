package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var tokensCases = []testCase{
	{
		name: "rise-over-release",
		explanation: "The tokens of a grant must be larger than all tokens of all earlier grants of the key: a resource that remembers " +
			"the largest refuses late writes. Those from Token to LastToken belong to one grant, even if it uses only one of them. " +
			"A grant may have fewer than asked for, but at least one.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			for _, n := range []int{1, 10, 1, 64, 1, 1, 1000, 3, 64, 64} {
				f.release(g)
				r := f.request(key, long)
				r.Tokens = n
				next := f.try(r) // checks the number of tokens
				f.mustRise(g, next)
				g = next
			}
		},
	},
	{
		name:        "rise-over-expiry",
		explanation: "Tokens must rise when a lease has expired, whichever owner takes the key next: the last holder may still be running.",
		run: func(f *fixture) {
			key, first := f.hold(f.Lease)
			r := f.request(key, f.Lease)
			second := f.seize(r, f.Lease)
			f.mustRise(first, second)
			third := f.seize(f.request(key, f.Lease), f.Lease)
			f.mustRise(second, third)
			time.Sleep(2 * f.Lease) // the store may have deleted what expires
			f.mustRise(third, f.seize(r, 0))
		},
	},
}

// mustRise checks the tokens of two grants of a key, if the backend issues tokens.
func (f *fixture) mustRise(earlier, later driver.Grant) {
	f.Helper()
	if !f.NoTokens && later.Token <= earlier.LastToken {
		f.Errorf("tokens %d to %d, and then %d to %d", earlier.Token, earlier.LastToken, later.Token, later.LastToken)
	}
}
