package locktest

import "github.com/distlock-go/distlock/driver"

var idempotenceCases = []testCase{
	{
		name: "same-owner-again",
		explanation: "TryAcquire and Acquire by an owner that has the key must succeed, with tokens that are not smaller than at first, and must not take a second permit: " +
			"a reply can be lost after the store has acted, and an owner that tries again must not wait for itself.",
		run: func(f *fixture) {
			for _, ask := range f.modes() {
				r := ask(f.key(), long)
				r.Tokens = 8
				first := f.try(r)
				for range permits {
					f.mustRepeat(first, f.try(r))
				}
				if f.queue != nil {
					f.mustRepeat(first, f.wait(r).served(f))
				}
				if r.Permits > 0 {
					for _, other := range f.take(r.Key, permits-1) {
						f.release(other)
					}
				}
				f.busy(f.request(r.Key, long))
				f.releaseLast(first) // once is enough
			}
		},
	},
}

// mustRepeat checks the grant of a repeated request: its tokens are not smaller than those of
// the first one, of which the caller may not know.
func (f *fixture) mustRepeat(first, again driver.Grant) {
	f.Helper()
	if again.Token < first.Token || again.LastToken < first.LastToken || (again.Token == 0) != (first.Token == 0) {
		f.Errorf("tokens %d to %d at first, then %d to %d", first.Token, first.LastToken, again.Token, again.LastToken)
	}
}
