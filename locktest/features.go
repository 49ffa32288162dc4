package locktest

import "github.com/distlock-go/distlock/driver"

var featuresCases = []testCase{
	{
		name: "constant",
		explanation: "Features must always return the same answer: the Locker asks when it begins, and refuses options " +
			"by what it was told.",
		run: func(f *fixture) {
			want := f.backend.Features()
			mustBe := func(when string) {
				f.Helper()
				if got := f.backend.Features(); got != want {
					f.Errorf("Features returned %+v at first, and %+v %s", want, got, when)
				}
			}
			mustBe("when it was called again")
			g := f.try(f.request(f.key(), long))
			mustBe("after TryAcquire")
			f.busy(f.request(g.Key, long))
			mustBe("after TryAcquire of a held key")
			f.want(f.renewAll(g), driver.Renewed)
			mustBe("after Renew")
			f.release(g)
			mustBe("after Release")
			f.want(f.renewAll(g), driver.Lost)
			mustBe("after Renew of a released key")
		},
	},
}
