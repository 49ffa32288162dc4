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
			"The grant must be renewed and released as before, and the tokens of the next owner must be larger still.",
		run: func(f *fixture) {
			r := f.request(f.key(), long)
			r.Tokens = 8
			g := f.try(r)
			for _, n := range []int{8, 1, 64} {
				more := f.more(g, n)
				f.mustRise(g, more)
				g.LastToken = more.LastToken // as the Locker has it
				f.want(f.renewAll(g), driver.Renewed)
			}
			f.busy(f.request(r.Key, long))
			f.release(g)
			f.mustRise(g, f.try(f.request(r.Key, long)))
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
			if _, err := f.extender.Extend(f.Context(), g, 4); !errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, driver.ErrLost) {
				f.Errorf("another owner waits, and Extend returned the error %v", err)
			}
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
		needs:       []need{needsQueue},
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
