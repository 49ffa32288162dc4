package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var extendCases = []testCase{
	{
		name: "larger-tokens",
		explanation: "Extend must issue more tokens: as many as asked for or fewer, but at least one, each larger than all before. " +
			"The tokens of the next owner must be larger still.",
		needs: []need{needsTokens},
		run: func(f *fixture) {
			key := f.key()
			r := f.request(key, long)
			r.Tokens = 8
			g := f.try(r)
			for _, n := range []int{8, 1, 64} {
				more := f.more(g, n)
				f.mustRise(g, more)
				g = more
			}
			f.busy(f.request(key, long))
			f.release(g)
			f.mustRise(g, f.try(f.request(key, long)))
		},
	},
	{
		name:        "extends",
		explanation: "Extend must extend the lease to a full TTL from now, and no further.",
		needs:       []need{needsExpiry},
		run: func(f *fixture) {
			key, g := f.hold(f.Lease)
			f.keepAlive(g, func() (time.Time, bool) {
				more, err := f.extender.Extend(f.Context(), g, 4)
				return more.Sent, err == nil
			})
			f.seize(f.request(key, long), f.Lease) // and no further
		},
	},
	{
		name: "others-wait",
		explanation: "While another owner waits in the queue, in any process, Extend must fail with an error that wraps ErrNotAcquired: " +
			"a process that hands the key from goroutine to goroutine would otherwise never give it back.",
		needs: []need{needsQueue},
		run: func(f *fixture) {
			key, g := f.hold(long)
			w := f.last().queueUp(f.request(key, long))
			f.mustBeRefused(g)
			f.want(f.renewAll(g), driver.Renewed) // and still holds the key
			w.mustWait(f)
			f.release(g)
			f.release(w.served(f))
			g = f.more(f.try(f.request(key, long)), 4) // the queue is empty now
			f.releaseLast(g)
		},
	},
	{
		name:        "refusal-changes-nothing",
		explanation: "An Extend that is refused must not extend the lease: the question must not make the waiters wait for longer.",
		needs:       []need{needsQueue, needsExpiry},
		run: func(f *fixture) {
			key, g := f.hold(2 * f.Lease)
			w := f.queueUpLooking(g, f.request(key, long), f.Lease/2)
			for end := g.Sent.Add(6 * f.Lease); time.Now().Before(end); time.Sleep(f.Lease / 4) {
				select {
				case <-w.done:
					f.release(w.served(f))
					return
				default:
				}
				if _, err := f.extender.Extend(f.Context(), g, 4); err == nil {
					f.Fatal("Extend succeeded although another owner waits")
				}
			}
			f.Error("the lease does not end while Extend is refused again and again")
		},
	},
	{
		name: "released",
		explanation: "If the owner has released the key, the error of Extend must wrap ErrLost. Nothing must be created, and the lease of " +
			"another owner must not change.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			f.release(g)
			f.mustNotExtend(g)
			next := f.try(f.request(key, long))
			f.mustNotExtend(g)
			f.want(f.renewAll(next, g), driver.Renewed, driver.Lost)
			f.releaseLast(next)
		},
	},
	{
		name:        "after-expiry",
		explanation: "If the lease has ended, the error of Extend must wrap ErrLost, even if nobody has taken the key since, and nothing must be created.",
		needs:       []need{needsExpiry},
		run: func(f *fixture) {
			g := f.try(f.request(f.key(), f.Lease))
			other := f.try(f.request(f.key(), f.Lease))
			f.seize(f.request(other.Key, long), f.Lease) // so the lease of g has ended too
			f.mustNotExtend(g)
			f.seize(f.request(g.Key, long), 0) // a store may take a moment to notice the end
		},
	},
	{
		name:        "release-after",
		explanation: "A grant that was extended must be renewed and released as before.",
		run: func(f *fixture) {
			_, g := f.hold(long)
			for range 3 {
				more := f.more(g, 16)
				g.LastToken = more.LastToken // as the Locker has it
				f.want(f.renewAll(g), driver.Renewed)
			}
			f.releaseLast(g)
		},
	},
}

// more extends a grant. Its key must not have waiters.
func (f *fixture) more(g driver.Grant, tokens int) driver.Grant {
	f.Helper()
	before := time.Now()
	more, err := f.extender.Extend(f.Context(), g, tokens)
	if err != nil {
		f.Fatalf("Extend by the holder: %v", err)
	}
	r := driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL, Mode: g.Mode, Permits: g.Permits, Tokens: tokens}
	f.inspect(more, r, before)
	return more
}

// mustBeRefused checks that Extend is refused because another owner waits.
func (f *fixture) mustBeRefused(g driver.Grant) {
	f.Helper()
	switch _, err := f.extender.Extend(f.Context(), g, 4); {
	case err == nil:
		f.Error("Extend succeeded although another owner waits")
	case !errors.Is(err, driver.ErrNotAcquired), errors.Is(err, driver.ErrLost):
		f.Errorf("another owner waits, but the error does not wrap ErrNotAcquired, or wraps more: %v", err)
	}
}

// mustNotExtend checks that Extend fails because the owner does not have the key.
func (f *fixture) mustNotExtend(g driver.Grant) {
	f.Helper()
	switch _, err := f.extender.Extend(f.Context(), g, 4); {
	case err == nil:
		f.Error("Extend succeeded although the owner does not have the key")
	case !errors.Is(err, driver.ErrLost):
		f.Errorf("the owner does not have the key, but the error does not wrap ErrLost: %v", err)
	}
}
