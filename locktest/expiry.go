package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var expiryCases = []testCase{
	{
		name: "after-the-ttl",
		explanation: "A lease that is not renewed must end after its TTL, and not before: a crashed holder blocks the key for no longer, " +
			"and a running one relies on all of it.",
		needs: []need{needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, f.Lease))
			other := f.seize(f.request(key, long), f.Lease)
			f.mustHaveEnded(g)
			f.release(other)
			f.free(key)
		},
	},
	{
		name:        "each-its-own",
		explanation: "Each lease must have the TTL of its own request.",
		needs:       []need{needsExpiry},
		run: func(f *fixture) {
			short := f.try(f.request(f.key(), f.Lease))
			longer := f.try(f.request(f.key(), 4*f.Lease))
			f.seize(f.request(short.Key, long), f.Lease)
			f.mustStillHold(longer)
		},
	},
	{
		name: "late-owner",
		explanation: "When its lease has ended, an owner has no rights left: while another owner has the key, TryAcquire by the first must fail, " +
			"and the error of its Release must wrap ErrLost. Otherwise both hold it.",
		needs: []need{needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			late := f.request(key, f.Lease)
			lost := f.try(late)
			g := f.seize(f.request(key, long), f.Lease)
			f.busy(late)
			for range 2 {
				f.releaseLost(lost)
			}
			f.busy(f.request(key, long))
			f.release(g)
			f.free(key)
		},
	},
	{
		name:        "hint-shrinks",
		explanation: "RetryAfter of a HeldError is the rest of the lease, not its whole length.",
		needs:       []need{needsExpiry},
		run: func(f *fixture) {
			key := f.key()
			g := f.try(f.request(key, 4*f.Lease))
			time.Sleep(2 * f.Lease)
			before := time.Now()
			_, err := f.backend.TryAcquire(f.Context(), f.request(key, long))
			left := g.Sent.Add(g.TTL).Sub(before)
			if held, ok := errors.AsType[*driver.HeldError](err); ok && held.RetryAfter > left+f.soon() {
				f.Errorf("%v are left, the hint is %v", left, held.RetryAfter)
			}
		},
	},
}
