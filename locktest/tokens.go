package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var tokensCases = []testCase{
	{
		name: "rise-over-release",
		explanation: "The tokens of a grant must be larger than all tokens of all earlier grants of the key: a resource that remembers " +
			"the largest refuses late writes.",
		needs: []need{needsTokens},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			for range 20 {
				f.release(g)
				next := f.try(f.request(key, long))
				f.mustRise(g, next)
				g = next
			}
		},
	},
	{
		name:        "rise-over-expiry",
		explanation: "Tokens must rise when a lease has expired, whichever owner takes the key next: the last holder may still be running.",
		needs:       []need{needsTokens, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			first := f.try(f.request(key, f.Lease))
			r := f.request(key, f.Lease)
			second := f.seize(r, f.Lease)
			f.mustRise(first, second)
			third := f.seize(f.request(key, f.Lease), f.Lease)
			f.mustRise(second, third)
			time.Sleep(2 * f.Lease) // the store may have deleted what expires
			f.mustRise(third, f.seize(r, 0))
		},
	},
	{
		name: "blocks",
		explanation: "The tokens from Token to LastToken belong to one grant, even if it uses only one of them: the Locker gives them " +
			"to the holders that follow each other inside the process. A grant may have fewer than asked for, but at least one.",
		needs: []need{needsTokens},
		run: func(f *fixture) {
			key := f.key()
			var last driver.Grant
			for i, n := range []int{10, 1, 64, 1, 1, 1000, 3, 64, 64} {
				r := f.request(key, long)
				r.Tokens = n
				g := f.try(r) // checks the number of tokens
				if i > 0 {
					f.mustRise(last, g)
				}
				f.release(g)
				last = g
			}
		},
	},
}

func (f *fixture) mustRise(earlier, later driver.Grant) {
	f.Helper()
	if later.Token <= earlier.LastToken {
		f.Errorf("tokens %d to %d, and then %d to %d", earlier.Token, earlier.LastToken, later.Token, later.LastToken)
	}
}
