package locktest

import "github.com/distlock-go/distlock/driver"

var lossCases = []testCase{
	{
		name: "next-holder",
		explanation: "If the store has forgotten the holder, the next renewal must be Lost, and must not create the key anew. " +
			"If another owner has the key then, the error of Release must wrap ErrLost, and the other must keep it. Its token must be larger: the first may still be writing.",
		run: func(f *fixture) {
			key := f.key()
			r := f.request(key, long)
			r.Tokens = 64
			lost := f.try(r)
			f.Drop(f.T, f.backend, key)
			f.want(f.renewAll(lost), driver.Lost)
			g := f.try(f.request(key, long))
			f.mustRise(lost, g)
			f.releaseLost(lost)
			f.want(f.renewAll(lost, g), driver.Lost, driver.Renewed)
			f.busy(f.request(key, long))
			f.releaseLast(g)
		},
	},
	{
		name:        "queue-moves-on",
		explanation: "If the store has forgotten the holder, a waiter must get the key at the latest when its Backoff makes it look again.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key, g := f.hold(long)
			w := f.queueUpLooking(g, f.request(key, long), f.Lease/2)
			f.Drop(f.T, f.backend, key)
			f.releaseLast(w.served(f))
		},
	},
}
