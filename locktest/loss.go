package locktest

import "github.com/distlock-go/distlock/driver"

var lossCases = []testCase{
	{
		name:        "told-by-renewal",
		explanation: "If the store has forgotten the holder, the next renewal must be Lost, and must not create the key anew.",
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
		explanation: "If an owner has lost the key and another has it, the error of Release must wrap ErrLost, and the other must keep the key.",
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
		explanation: "Tokens must rise even if the store has forgotten the holder: that holder may still be writing.",
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
		name:        "queue-moves-on",
		explanation: "If the store has forgotten the holder, a waiter must get the key at the latest when its Backoff makes it look again.",
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
