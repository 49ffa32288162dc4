package locktest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var exclusionCases = []testCase{
	{
		name: "one-holder",
		explanation: "While an owner holds a key, TryAcquire by any other must fail with an error that wraps ErrNotAcquired " +
			"and none that means a failure of the backend: the Locker waits after the first, and takes the outcome for unknown after the second. " +
			"It must make one attempt and must not wait for the holder: RetryCount 1 promises that to callers.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			for range 3 {
				f.busy(f.request(key, long))
			}
			f.releaseLast(g)
		},
	},
	{
		name: "holder",
		explanation: "A HeldError may leave out the name of the holder, how long it has had the key, and the rest of its lease. What it has must be right: " +
			"an operator relies on the first two, and a waiter may sleep for the third.",
		run: func(f *fixture) {
			requested := time.Now()
			key, _ := f.hold(long)
			ends := time.Now().Add(long)
			time.Sleep(f.Lease)
			left := time.Until(ends) + 10*time.Millisecond // a store may round
			_, err := f.backend.TryAcquire(f.Context(), f.request(key, 10*long))
			held, ok := errors.AsType[*driver.HeldError](err)
			if !ok {
				return
			}
			if held.RetryAfter < 0 || held.RetryAfter > left {
				f.Errorf("%v are left of the lease, the hint is %v", left, held.RetryAfter)
			}
			if held.Holder != "" && held.Holder != holderName {
				f.Errorf("the holder is named %q, want %q", held.Holder, holderName)
			}
			if held.Held < 0 || held.Held > time.Since(requested)+patience {
				f.Errorf("held for %v, %v after the request", held.Held, time.Since(requested))
			}
			if held.Local {
				f.Errorf("a backend cannot know that the holder is under the same Locker: %v", err)
			}
		},
	},
	{
		name:        "ping",
		explanation: "Ping must return nil if the store answers, and must return when its context ends: a health check that hangs takes a healthy process out of service.",
		needs:       []need{needsPing},
		run: func(f *fixture) {
			if err := f.pinger.Ping(f.Context()); err != nil {
				f.Errorf("Ping: %v", err)
			}
			ctx, cancel := context.WithCancel(f.Context())
			cancel()
			start := time.Now()
			_ = f.pinger.Ping(ctx) // either result is right
			if d := time.Since(start); d > f.soon() {
				f.Errorf("Ping under a context that has ended took %v", d)
			}
		},
	},
	{
		name: "keys-are-apart",
		explanation: "Each key is a separate lock, even if two keys differ only in case or at the end of a long text, if one is a prefix " +
			"of the other, or if they have the same hash tag. Otherwise unrelated callers wait for each other, and a release of one lock frees both.",
		run: func(f *fixture) {
			base := f.key()
			path := strings.Repeat("x", 150-len(base))
			keys := []string{
				base, base + "a", base + "A", base + "aa", base + ":a", base + ":a:", base + ":a:a",
				base + "_", base + "%", base + "/", base + "/a",
				base + path + "1", base + path + "2",
				base + "{a}", base + "{a}b", base + "{a}c", base + "{b}",
			}
			grants := make([]driver.Grant, len(keys))
			for i, key := range keys {
				grants[i] = f.try(f.request(key, long))
			}
			for i, key := range keys {
				f.release(grants[i])
				for _, other := range keys[i+1:] {
					f.busy(f.request(other, long))
				}
				f.free(key)
			}
		},
	},
	{
		name:        "two-backends",
		explanation: "Two processes with one store must exclude each other, and one can have what the other has released, with larger tokens.",
		needs:       []need{needsPeer},
		run: func(f *fixture) {
			holder, other := f, f.peer()
			key, g := f.hold(long)
			for range 6 {
				other.busy(f.request(key, long))
				holder.release(g)
				next := other.try(f.request(key, long))
				f.mustRise(g, next)
				g, holder, other = next, other, holder
			}
			holder.releaseLast(g)
		},
	},
	{
		name:        "all-methods-at-once",
		explanation: "Every method must be safe for concurrent use. Run this with -race.",
		run: func(f *fixture) {
			const goroutines, rounds = 8, 20
			rooms := map[string]*room{f.key(): {}, f.key(): {}, f.key(): {}}
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for range rounds {
						for key, room := range rooms { // in random order
							f.visitOnce(room, f.request(key, long))
						}
					}
				})
			}
			wg.Wait()
			for key := range rooms {
				f.free(key)
			}
		},
	},
}

// visitOnce calls every method for one owner, which may or may not get the key.
func (f *fixture) visitOnce(room *room, r driver.Request) {
	g, err := f.backend.TryAcquire(f.Context(), r)
	if err != nil && f.queue != nil {
		g, err = testkit.Await(f.Context(), f.queue, r, testkit.Looks{Every: time.Millisecond, Attempts: 3})
	}
	if err == nil {
		if r := f.renewUnder(f.Context(), []driver.Grant{g}, nil)[0]; r.Status != driver.Renewed {
			f.Errorf("Renew of a lease that has not ended: %v, %v", r.Status, r.Err)
		}
		room.visit(f, g.Sharing(), g.Token, f.tick())
	}
	if err := f.backend.Release(f.Context(), r.Grant()); err != nil && !errors.Is(err, driver.ErrLost) {
		f.Errorf("Release: %v", err)
	}
}
