package locktest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var exclusionCases = []testCase{
	{
		name: "one-holder",
		explanation: "While an owner holds a key, TryAcquire by any other must fail with an error that wraps ErrNotAcquired " +
			"and none that means a failure of the backend: the Locker waits after the first, and takes the outcome for unknown after the second. " +
			"It must make one attempt and must not wait for the holder: RetryCount 1 promises that to callers.",
		run: func(p *process) {
			key, g := p.hold(long)
			for range 3 {
				p.busy(p.request(key, long))
			}
			p.releaseLast(g)
		},
	},
	{
		name: "holder",
		explanation: "A HeldError may leave out the name of the holder, how long it has had the key, and the rest of its lease. What it has must be right: " +
			"an operator relies on the first two, and a waiter may sleep for the third.",
		run: func(p *process) {
			requested := time.Now()
			key, _ := p.hold(long)
			ends := time.Now().Add(long)
			time.Sleep(p.Lease)
			left := time.Until(ends) + 10*time.Millisecond // a store may round
			_, err := p.backend.TryAcquire(p.Context(), p.request(key, 10*long))
			held, ok := errors.AsType[*driver.HeldError](err)
			if !ok {
				return
			}
			if held.RetryAfter < 0 || held.RetryAfter > left {
				p.Errorf("%v are left of the lease, the hint is %v", left, held.RetryAfter)
			}
			if held.Holder != "" && held.Holder != holderName {
				p.Errorf("the holder is named %q, want %q", held.Holder, holderName)
			}
			if held.Held < 0 || held.Held > time.Since(requested)+patience {
				p.Errorf("held for %v, %v after the request", held.Held, time.Since(requested))
			}
			if held.Local {
				p.Errorf("a backend cannot know that the holder is under the same Locker: %v", err)
			}
		},
	},
	{
		name:        "ping",
		explanation: "Ping must return nil if the store answers, and must return when its context ends: a health check that hangs takes a healthy process out of service.",
		needs:       []need{needsPing},
		run: func(p *process) {
			if err := p.pinger.Ping(p.Context()); err != nil {
				p.Errorf("Ping: %v", err)
			}
			ctx, cancel := context.WithCancel(p.Context())
			cancel()
			start := time.Now()
			_ = p.pinger.Ping(ctx) // either result is right
			if d := time.Since(start); d > p.soon() {
				p.Errorf("Ping under a context that has ended took %v", d)
			}
		},
	},
	{
		name: "keys-are-apart",
		explanation: "Each key is a separate lock, even if two keys differ only in case or at the end of a long text, if one is a prefix " +
			"of the other, or if they have the same hash tag. Otherwise unrelated callers wait for each other, and a release of one lock frees both.",
		run: func(p *process) {
			base := p.key()
			path := strings.Repeat("x", 150-len(base))
			keys := []string{
				base, base + "a", base + "A", base + "aa", base + ":a", base + ":a:", base + ":a:a",
				base + "_", base + "%", base + "/", base + "/a",
				base + path + "1", base + path + "2",
				base + "{a}", base + "{a}b", base + "{a}c", base + "{b}",
			}
			grants := make([]driver.Grant, len(keys))
			for i, key := range keys {
				grants[i] = p.try(p.request(key, long))
			}
			for i, key := range keys {
				p.release(grants[i])
				for _, other := range keys[i+1:] {
					p.busy(p.request(other, long))
				}
				p.free(key)
			}
		},
	},
	{
		name:        "two-backends",
		explanation: "Two processes with one store must exclude each other, and one can have what the other has released, with larger tokens.",
		needs:       []need{needsPeer},
		run: func(p *process) {
			holder, other := p, p.peer()
			key, g := p.hold(long)
			for range 6 {
				other.busy(p.request(key, long))
				holder.release(g)
				next := other.try(p.request(key, long))
				p.mustRise(g, next)
				g, holder, other = next, other, holder
			}
			holder.releaseLast(g)
		},
	},
	{
		name:        "all-methods-at-once",
		explanation: "Every method must be safe for concurrent use. Run this with -race.",
		run: func(p *process) {
			const goroutines, rounds = 8, 10
			rooms := map[string]*room{p.key(): {}, p.key(): {}, p.key(): {}}
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for range rounds {
						for key, room := range rooms { // in random order
							visitOnce(p, room, p.request(key, long))
						}
					}
				})
			}
			wg.Wait()
			for key := range rooms {
				p.free(key)
			}
		},
	},
}

// visitOnce calls every method for one owner, which may or may not get the key.
func visitOnce(p *process, room *room, r driver.Request) {
	g, err := p.backend.TryAcquire(p.Context(), r)
	if err != nil && p.queue != nil {
		g, err = p.queue.Enqueue(p.Context(), r)
	}
	if err == nil {
		if r := renewUnder(p.Context(), p, []driver.Grant{g}, nil)[0]; r != nil {
			p.Errorf("Renew of a lease that has not ended: %v", r)
		}
		room.visit(p, g.Sharing(), g.Token, p.tick())
	}
	if err := p.backend.Release(p.Context(), r.Grant()); err != nil && !errors.Is(err, driver.ErrLost) {
		p.Errorf("Release: %v", err)
	}
}
