package locktest

import "github.com/distlock-go/distlock/driver"

var lossCases = []testCase{
	{
		name:        "told-by-renewal",
		explanation: "What the store has forgotten must be reported Lost by the next renewal, and must not be created anew.",
		needs:       []need{needsDrop},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			f.Drop(f.T, f.backend, key)
			f.want(f.renewAll(g), driver.Lost)
			f.free(key)
		},
	},
	{
		name:        "next-holder",
		explanation: "Whoever lost the key must be told so by Release if another has it by then, and must leave the other alone.",
		needs:       []need{needsDrop},
		run: func(f *fixture) {
			key := f.key()
			lost := f.try(f.request(key, long))
			f.Drop(f.T, f.backend, key)
			g := f.try(f.request(key, long))
			f.releaseLost(lost)
			f.want(f.renewAll(lost, g), driver.Lost, driver.Renewed)
			f.busy(f.request(key, long))
			f.release(g)
			f.free(key)
		},
	},
	{
		name:        "tokens-still-rise",
		explanation: "A token must be larger than every earlier one of its key even after the store has forgotten the holder: the lost holder may still be writing.",
		needs:       []need{needsDrop, needsTokens},
		run: func(f *fixture) {
			r := f.request(f.key(), long)
			r.Tokens = 64
			g := f.try(r)
			for range 5 {
				f.Drop(f.T, f.backend, r.Key)
				r.Owner = newOwner()
				next := f.try(r)
				f.mustRise(g, next)
				g = next
			}
		},
	},
	{
		name:        "line-moves-on",
		explanation: "If the store has forgotten the holder, whoever waits must get the key when its Backoff makes it look again, if not before.",
		needs:       []need{needsDrop, needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			w := f.queueUpLooking(g, f.request(key, long), f.Lease/2)
			f.Drop(f.T, f.backend, key)
			f.release(w.served(f))
			f.free(key)
		},
	},
}
