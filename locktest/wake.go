package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var wakeCases = []testCase{
	{
		name: "begins",
		explanation: "The channel of Wake must receive a value when the watch has begun: the key may have become free since the attempt " +
			"that was refused.",
		needs: []need{needsWake},
		run: func(f *fixture) {
			g := f.try(f.request(f.key(), long))
			f.mustWake(f.waker.Wake(f.Context(), g.Key), "when the watch has begun")
			f.release(g)
		},
	},
	{
		name:        "release",
		explanation: "A release must wake all that watch the key, in any process, and the key must be free for one of them.",
		needs:       []need{needsWake},
		run: func(f *fixture) {
			other, ok := f.last().(driver.Waker)
			if !ok {
				f.Fatal("the peer is not a Waker")
			}
			key := f.key()
			g := f.try(f.request(key, long))
			var watches []<-chan struct{}
			for _, w := range []driver.Waker{f.waker, f.waker, other} {
				up := w.Wake(f.Context(), key)
				f.mustWake(up, "when the watch has begun")
				watches = append(watches, up)
			}
			f.release(g)
			for _, up := range watches {
				f.mustWake(up, "after a release")
			}
			f.free(key)
		},
	},
	{
		name:        "again",
		explanation: "A watch must go on after it was woken: another waiter may have been faster.",
		needs:       []need{needsWake},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			up := f.waker.Wake(f.Context(), key)
			f.mustWake(up, "when the watch has begun")
			for range 3 {
				f.release(g)
				g = f.seizeWoken(up, f.request(key, long))
			}
			f.release(g)
			f.free(key)
		},
	},
	{
		name:        "ends",
		explanation: "When the context of a watch has ended, other watches of the key must go on.",
		needs:       []need{needsWake},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			ctx, cancel := context.WithCancel(f.Context())
			ended, up := f.waker.Wake(ctx, key), f.waker.Wake(f.Context(), key)
			f.mustWake(ended, "when the watch has begun")
			f.mustWake(up, "when the watch has begun")
			cancel()
			f.calm()
			f.release(g)
			f.release(f.seizeWoken(up, f.request(key, long)))
			f.free(key)
		},
	},
}

// mustWake waits for a value.
func (f *fixture) mustWake(up <-chan struct{}, when string) {
	f.Helper()
	select {
	case <-up:
	case <-time.After(patience):
		f.Fatalf("no value within %v %s", patience, when)
	}
}

// seizeWoken acquires the key with an attempt for each value, and no others.
func (f *fixture) seizeWoken(up <-chan struct{}, r driver.Request) driver.Grant {
	f.Helper()
	for start := time.Now(); time.Since(start) < patience; {
		f.mustWake(up, "after a release")
		before := time.Now()
		g, err := f.backend.TryAcquire(f.Context(), r)
		if err == nil {
			f.inspect(g, r, before)
			f.releaseLater(f.backend, g)
			return g
		}
		if !errors.Is(err, driver.ErrNotAcquired) {
			f.Fatalf("TryAcquire: %v", err)
		}
	}
	f.Fatalf("the key was not free within %v after a release", patience)
	return driver.Grant{}
}
