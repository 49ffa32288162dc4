package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

var revokeCases = []testCase{
	{
		name: "asks",
		explanation: "Revoke must close the channel of the holder, whichever process asks, and must take nothing away. " +
			"When Revoked has returned, no request must be missed.",
		run: func(f *fixture) {
			other := f.last().revoker
			g := f.try(f.request(f.key(), long))
			asked := f.revoker.Revoked(f.Context(), g)
			f.mustSay(true, other.Revoke, g.Key)
			select {
			case <-asked:
			case <-time.After(patience):
				f.Fatal("the holder was not told of a request after Revoked had returned")
			}
			f.mustStillHold(g)
			f.release(g)
		},
	},
	{
		name:        "readers",
		explanation: "Revoke must ask all holders of the key.",
		needs:       []need{needsShare},
		run: func(f *fixture) {
			key := f.key()
			one, two := f.try(f.reader(key, long)), f.try(f.reader(key, long))
			f.mustRevoke(f.revoker, key, f.revoker.Revoked(f.Context(), one), f.revoker.Revoked(f.Context(), two))
			f.release(one)
			f.release(two)
		},
	},
	{
		name: "only-this-holder",
		explanation: "A request is for the present holders of one key: neither another key nor the next holder is asked. " +
			"Revoke of a free key must say that it is not held.",
		run: func(f *fixture) {
			key, g := f.hold(long)
			_, other := f.hold(long)
			otherAsked := f.revoker.Revoked(f.Context(), other)
			f.mustRevoke(f.revoker, key, f.revoker.Revoked(f.Context(), g))
			f.release(g)
			f.mustSay(false, f.revoker.Revoke, key)
			next := f.try(f.request(key, long))
			nextAsked := f.revoker.Revoked(f.Context(), next)
			f.mustNotBeAsked(otherAsked)
			f.mustNotBeAsked(nextAsked)
			f.release(next)
			f.mustSay(false, f.revoker.Revoke, key)
			f.mustSay(false, f.revoker.Revoke, f.key())
		},
	},
}

// mustRevoke asks until all channels are closed: a request may be lost.
func (f *fixture) mustRevoke(r driver.Revoker, key string, asked ...<-chan struct{}) {
	f.Helper()
	end := time.After(patience)
	for _, asked := range asked {
		for told := false; !told; {
			f.mustSay(true, r.Revoke, key)
			select {
			case <-asked:
				told = true
			case <-time.After(20 * f.tick()):
			case <-end:
				f.Fatalf("the holder was not told within %v", patience)
			}
		}
	}
}

// mustNotBeAsked checks that the holder was not asked.
func (f *fixture) mustNotBeAsked(asked <-chan struct{}) {
	f.Helper()
	f.calm()
	select {
	case <-asked:
		f.Fatal("a holder was asked that must not be")
	default:
	}
}
