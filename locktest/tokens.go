package locktest

import (
	"sync"
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
		name: "same-owner-after-expiry",
		explanation: "An owner that acquires again after its lease has ended must get new tokens, because others may have had the key: " +
			"idempotence ends with the lease.",
		needs: []need{needsTokens, needsExpiry},
		run: func(f *fixture) {
			r := f.request(f.key(), f.Lease)
			first := f.try(r)
			other := f.seize(f.request(r.Key, long), f.Lease)
			f.release(other)
			again := f.try(r)
			f.mustRise(first, other)
			f.mustRise(other, again)
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
	{
		name:        "rise-over-processes",
		explanation: "Tokens must rise over all processes that share the store.",
		needs:       []need{needsTokens, needsPeer},
		run: func(f *fixture) {
			backends := []driver.Backend{f.backend, f.peer()}
			r := f.request(f.key(), long)
			r.Tokens = 16
			var last driver.Grant
			for i := range 10 {
				r.Owner = newOwner()
				b := backends[i%2]
				g := f.tryOn(b, r)
				if i > 0 {
					f.mustRise(last, g)
				}
				if err := b.Release(f.Context(), g); err != nil {
					f.Fatalf("Release by the holder: %v", err)
				}
				last = g
			}
		},
	},
	{
		name:        "rise-over-the-queue",
		explanation: "Tokens must rise when the key goes from one waiter to the next.",
		needs:       []need{needsTokens, needsQueue},
		run: func(f *fixture) {
			r := f.request(f.key(), long)
			r.Tokens = 16
			g := f.try(r)
			var waiters []*waiter
			for range 5 {
				r.Owner = newOwner()
				waiters = append(waiters, f.queueUp(r))
			}
			for _, w := range waiters {
				f.release(g)
				next := w.served(f)
				f.mustRise(g, next)
				g = next
			}
		},
	},
	{
		name:        "rise-among-goroutines",
		explanation: "Tokens must rise in the order in which the store grants the key, even under contention.",
		needs:       []need{needsTokens},
		run: func(f *fixture) {
			const goroutines, visits = 8, 5
			var r room // checks the tokens
			key := f.key()
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for range visits {
						f.visitAndRelease(&r, key)
					}
				})
			}
			wg.Wait()
			r.mustHaveHad(f, goroutines*visits)
		},
	},
}

func (f *fixture) mustRise(earlier, later driver.Grant) {
	f.Helper()
	if later.Token <= earlier.LastToken {
		f.Errorf("tokens %d to %d, and then %d to %d", earlier.Token, earlier.LastToken, later.Token, later.LastToken)
	}
}
