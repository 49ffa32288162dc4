package locktest

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var wakeCases = []testCase{
	{
		name: "release",
		explanation: "The channel of Turn must receive a value when the watch has begun: the key may have become free since the attempt that was refused. " +
			"A release must then wake all that watch the key, in any process, and the key must be free for one of them.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			var watches []<-chan driver.Grant
			for _, w := range []driver.Waker{f.waker, f.waker, f.last().waker} {
				up := w.Turn(f.Context(), f.request(key, long))
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
		explanation: "A watch must go on after it was woken, as another waiter may have been faster, and when the context of another watch of the key has ended.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			ctx, cancel := context.WithCancel(f.Context())
			ended, up := f.waker.Turn(ctx, f.request(key, long)), f.waker.Turn(f.Context(), f.request(key, long))
			f.mustWake(ended, "when the watch has begun")
			f.mustWake(up, "when the watch has begun")
			cancel()
			f.calm()
			for range 3 {
				f.release(g)
				g = f.seizeWoken(up, f.request(key, long))
			}
			f.releaseLast(g)
		},
	},
}

// mustWake waits for a value.
func (f *fixture) mustWake(up <-chan driver.Grant, when string) {
	f.Helper()
	select {
	case <-up:
	case <-time.After(patience):
		f.Fatalf("no value within %v %s", patience, when)
	}
}

// seizeWoken acquires the key with an attempt for each value, and no others.
func (f *fixture) seizeWoken(up <-chan driver.Grant, r driver.Request) driver.Grant {
	f.Helper()
	for start := time.Now(); time.Since(start) < patience; {
		f.mustWake(up, "after a release")
		g, err := f.attempt(r)
		if err == nil {
			return g
		}
		f.mustBeHeld(err)
	}
	f.Fatalf("the key was not free within %v after a release", patience)
	return driver.Grant{}
}
