package locktest

import (
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var tokensCases = []testCase{
	{
		name: "rise-over-release",
		explanation: "Every grant must have tokens larger than every token of every earlier grant of the key: a resource that remembers " +
			"the largest refuses whoever is late.",
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
		explanation: "Tokens must rise when a lease has ended by itself, whoever takes the key next: the one before may only have slept.",
		needs:       []need{needsTokens, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			first := f.try(f.request(key, f.Lease))
			r := f.request(key, f.Lease)
			second := f.seize(r, f.Lease)
			f.mustRise(first, second)
			third := f.seize(f.request(key, f.Lease), f.Lease)
			f.mustRise(second, third)
			time.Sleep(2 * f.Lease) // longer than the lease: the store may have forgotten everything
			f.mustRise(third, f.seize(r, 0))
		},
	},
	{
		name: "same-owner-after-expiry",
		explanation: "An owner that comes back after its lease has ended, and maybe others have been there, must get new tokens: " +
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
		explanation: "Token to LastToken belong to one grant alone, also after it has used but one of them: the Locker hands them out " +
			"to the holders that follow each other inside the process. There may be fewer than asked for, but not none.",
		needs: []need{needsTokens},
		run: func(f *fixture) {
			key := f.key()
			var last driver.Grant
			for i, n := range []int{10, 1, 64, 1, 1, 1000, 3, 64, 64} {
				r := f.request(key, long)
				r.Tokens = n
				g := f.try(r) // inspects the block
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
		explanation: "Tokens must rise over all processes that share a store.",
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
		name:        "rise-over-the-line",
		explanation: "Tokens must rise when the key goes from one to the next in line.",
		needs:       []need{needsTokens, needsQueue},
		run: func(f *fixture) {
			r := f.request(f.key(), long)
			r.Tokens = 16
			g := f.try(r)
			var line []*waiter
			for range 5 {
				r.Owner = newOwner()
				line = append(line, f.queueUp(r))
			}
			for _, w := range line {
				f.release(g)
				next := w.served(f)
				f.mustRise(g, next)
				g = next
			}
		},
	},
	{
		name:        "rise-among-goroutines",
		explanation: "Tokens must rise in the order in which the store grants the key, also under contention.",
		needs:       []need{needsTokens},
		run: func(f *fixture) {
			const goroutines, visits = 8, 5
			var r room // which looks at the tokens
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
