package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var extendCases = []testCase{
	{
		name: "larger-tokens",
		explanation: "Extend mints further tokens, as many as asked for or fewer but not none, each larger than all before, and those of " +
			"the next owner are larger still.",
		needs: []need{needsExtend, needsTokens},
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
		explanation: "Extend extends the lease to a full TTL from now.",
		needs:       []need{needsExtend, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, f.Lease))
			f.keepAlive(g, func() (time.Time, bool) {
				more, err := f.extender.Extend(f.Context(), g, 4)
				return more.Sent, err == nil
			})
			f.seize(f.request(key, long), f.Lease) // and no further
		},
	},
	{
		name: "others-wait",
		explanation: "While another waits in line, Extend must be refused with an error that wraps ErrNotAcquired: " +
			"a process that hands the key to its own would otherwise keep it for ever.",
		needs: []need{needsExtend, needsQueue},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			w := f.queueUp(f.request(key, long))
			f.mustBeRefused(g)
			f.want(f.renewAll(g), driver.Renewed) // and is held all the same
			w.mustWait(f)
			f.release(g)
			g = f.more(w.served(f), 4) // nobody waits any more
			f.release(g)
			f.free(key)
		},
	},
	{
		name:        "others-wait-elsewhere",
		explanation: "Extend must see who waits in another process.",
		needs:       []need{needsExtend, needsQueue, needsPeer},
		run: func(f *fixture) {
			other, ok := f.peer().(driver.Queuer)
			if !ok {
				f.Fatal("the peer is not a Queuer")
			}
			key := f.key()
			g := f.try(f.request(key, long))
			w := f.queueUpOn(other, f.request(key, long), nil)
			f.mustBeRefused(g)
			f.release(g)
			f.release(w.served(f))
			f.free(key)
		},
	},
	{
		name:        "refusal-changes-nothing",
		explanation: "A Extend that is refused must not extend the lease: whoever waits would wait for longer because of the question.",
		needs:       []need{needsExtend, needsQueue, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, 2*f.Lease))
			w := f.queueUpLooking(g, f.request(key, long), f.Lease/2)
			for end := g.Sent.Add(6 * f.Lease); time.Now().Before(end); time.Sleep(f.Lease / 4) {
				select {
				case <-w.done:
					f.release(w.served(f))
					return
				default:
				}
				if _, err := f.extender.Extend(f.Context(), g, 4); err == nil {
					f.Fatal("prolonged although another waits in line")
				}
			}
			f.Error("a refused Extend keeps the key")
		},
	},
	{
		name:        "released",
		explanation: "If the owner has released the key, Extend must say ErrLost and create nothing.",
		needs:       []need{needsExtend},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			f.release(g)
			f.mustNotExtend(g)
			f.free(key)
		},
	},
	{
		name:        "others",
		explanation: "If another has the key, Extend must say ErrLost and leave it alone.",
		needs:       []need{needsExtend, needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			late := f.try(f.request(key, f.Lease))
			g := f.seize(f.request(key, long), f.Lease)
			f.mustNotExtend(late)
			f.want(f.renewAll(g, late), driver.Renewed, driver.Lost)
			f.release(g)
			f.free(key)
		},
	},
	{
		name:        "after-expiry",
		explanation: "If the lease has ended, Extend must say ErrLost even if nobody has taken the key since, and create nothing.",
		needs:       []need{needsExtend, needsExpiry},
		run: func(f *fixture) {
			g := f.try(f.request(f.key(), f.Lease))
			other := f.try(f.request(f.key(), f.Lease))
			f.seize(f.request(other.Key, long), f.Lease) // and so g's lease has ended too
			f.mustNotExtend(g)
			f.free(g.Key)
		},
	},
	{
		name:        "release-after",
		explanation: "What was prolonged is renewed and released as before.",
		needs:       []need{needsExtend},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, long))
			for range 3 {
				more := f.more(g, 16)
				g.LastToken = more.LastToken // as the Locker has it
				f.want(f.renewAll(g), driver.Renewed)
			}
			f.release(g)
			f.free(key)
		},
	},
}

// more prolongs what is held and nobody waits for.
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

// mustBeRefused prolongs what another waits for.
func (f *fixture) mustBeRefused(g driver.Grant) {
	f.Helper()
	switch _, err := f.extender.Extend(f.Context(), g, 4); {
	case err == nil:
		f.Error("prolonged although another waits in line")
	case !errors.Is(err, driver.ErrNotAcquired), errors.Is(err, driver.ErrLost):
		f.Errorf("another waits in line, but the error does not wrap ErrNotAcquired, or says more: %v", err)
	}
}

// mustNotExtend prolongs what g's owner does not have.
func (f *fixture) mustNotExtend(g driver.Grant) {
	f.Helper()
	switch _, err := f.extender.Extend(f.Context(), g, 4); {
	case err == nil:
		f.Error("prolonged although the owner does not have the key")
	case !errors.Is(err, driver.ErrLost):
		f.Errorf("the owner does not have the key, but the error does not wrap ErrLost: %v", err)
	}
}
